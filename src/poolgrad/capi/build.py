"""Headers and library, built with the user's own compiler when they are first asked for, and kept."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import __version__
from ..acl.handles import STEP
from ..arrays.files import BadFile
from ..base.cache_directory import cache_directory
from .functions import all_functions, protocol, shim_sources
from .headers import all_headers

LIBRARY = "libascendcl.so"
# The other names under which programs link what is one library here: links to it, since each copy would have a state
# of its own.
OTHER_NAMES = ("libnnopbase.so", "libopapi.so", "libopapi_nn.so", "libopapi_math.so", "libacl_rt.so")
MARK = "poolgrad.json"  # tells our directories from CANN's
LONGEST_BUILD = 3600  # seconds

FLAGS = (
    *("-std=c++11", "-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", f"-Wl,-soname,{LIBRARY}"),
    # Threads of the program end after dlclose, and run our code then.
    "-Wl,-z,nodelete",
)


class BuildError(BadFile):
    """The library can't be built: one line that says why, and what to change."""


def compiler(variable: str = "CXX", usual: str = "g++") -> list[str]:
    """The command of the compiler: what the environment variable says, or the usual one."""
    command = shlex.split(os.environ.get(variable, "")) or [usual]
    if shutil.which(command[0]) is None:
        raise BuildError(
            f"no compiler {command[0]!r} was found; install it (package {usual} of most systems), "
            f"or set {variable} to the one you have"
        )
    return command


def build() -> Path:
    """The directory with ``include`` and ``lib64``, made now if it is not there."""
    command = compiler()
    sources = _sources()
    prefix = cache_directory().absolute() / f"capi-{_key(command, sources)}"
    if not (prefix / MARK).exists():
        with new_directory(prefix.parent) as directory:
            made = directory / "prefix"
            _make(made, command, sources)
            _move(made, prefix)
    return prefix


@contextmanager
def new_directory(parent: Path) -> Iterator[Path]:
    """A directory to make things in, which is gone afterwards; what processes that were killed left behind goes too."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob("capi-new-*"):
            with suppress(OSError):
                if left.stat().st_mtime < time.time() - LONGEST_BUILD:
                    shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=parent, prefix="capi-new-") as directory:
            yield Path(directory)
    except OSError as error:
        reason, advice = error.strerror or error, "set POOLGRAD_CACHE_DIR to a directory that can be written"
        raise BuildError(f"can't build in {parent}: {reason}; {advice}") from None


def link_flags(prefix: Path) -> list[str]:
    """What a compiler needs to find headers and library, at compile time and at run time."""
    include, library = prefix / "include", prefix / "lib64"
    directories = [f"-I{include}", f"-I{include / 'aclnn'}", f"-L{library}", f"-Wl,-rpath,{library}"]
    return [*directories, "-lascendcl", "-lnnopbase", "-lopapi"]


def _sources() -> dict[str, str]:
    """What is compiled: headers as they are installed, and the shim."""
    baked = {
        "PYTHON": sys.executable,
        "START": str(Path(__file__).with_name("start.py")),
        "PATHS": "\n".join(_package_directories()),
    }
    lines = [f"#define {name} {_c_string(value)}" for name, value in baked.items()]
    lines += [f"#define PROTOCOL {protocol()}", f"#define HANDLE_STEP {STEP}"]
    return {
        **{f"include/{path}": text for path, text in all_headers().items()},
        "shim/baked.h": "\n".join(lines) + "\n",
        "shim/functions.inc": all_functions(),
        **{f"shim/{name}": text for name, text in shim_sources().items()},
    }


def _package_directories() -> list[str]:
    """Where the server finds what it imports: -I keeps PYTHONPATH and the user's own packages away from it."""
    specs = (importlib.util.find_spec(name) for name in ("numpy", "numba", "llvmlite", "ml_dtypes"))
    origins = [os.path.abspath(spec.origin) for spec in specs if spec and spec.origin]
    return list(dict.fromkeys(os.path.dirname(os.path.dirname(origin)) for origin in origins))


def _c_string(text: str) -> str:
    """A C string of any bytes: each one that is not plain is written in octal."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(text)) + '"'


def _key(command: list[str], sources: dict[str, str]) -> str:
    """All that the result depends on. The sources name the interpreter."""
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    everything = json.dumps([__version__, command, version, FLAGS, sources], sort_keys=True)
    return hashlib.sha256(everything.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _make(prefix: Path, command: list[str], sources: dict[str, str]) -> None:
    for name, text in sources.items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    libraries = prefix / "lib64"
    libraries.mkdir()
    source = prefix / "shim" / "shim.cpp"
    arguments = [f"-I{prefix / 'include'}", str(source), "-o", str(libraries / LIBRARY)]
    done = subprocess.run([*command, *FLAGS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), done.stderr.strip())
        raise BuildError(f"{shlex.join(command)} can't build the library: {reason[-300:]}; install g++ 7 or newer")
    for name in OTHER_NAMES:
        (libraries / name).symlink_to(LIBRARY)
    (prefix / "lib").symlink_to("lib64")
    about = {"poolgrad": __version__, "interpreter": sys.executable, "compiler": command}
    (prefix / MARK).write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def _move(made: Path, prefix: Path) -> None:
    """Put a finished directory into its place, all at once; another process may have been faster."""
    try:
        made.rename(prefix)
    except OSError:
        if not (prefix / MARK).exists():
            raise
