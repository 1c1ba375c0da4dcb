"""The library as a user builds it, and programs compiled against it."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from cli.command import poolgrad

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
EXAMPLES = HERE.parents[1] / "examples" / "capi"
STRICT = ("-Wall", "-Wextra", "-Werror")
PATIENCE = 120  # seconds after which a program hangs; no test asserts a duration


@functools.cache
def prefix() -> Path:
    """Where headers and library are; built on first use, from the cache after that."""
    return Path(poolgrad("capi", "build").stdout.strip())


@functools.cache
def flags() -> tuple[str, ...]:
    return tuple(shlex.split(poolgrad("capi", "flags").stdout))


def compile_program(source: Path, program: Path, *options: str) -> Path:
    """Compile one file with g++ (or gcc for C) as a user would; any warning fails. Tests use the examples' header."""
    compiler = ["gcc", "-std=c11"] if source.suffix == ".c" else ["g++"]
    command = [
        *compiler,
        *STRICT,
        "-g",
        *options,
        f"-I{EXAMPLES}",
        str(source),
        "-pthread",
        *flags(),
        "-o",
        str(program),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{shlex.join(command)}\n{done.stderr}"
    return program


def user_environment() -> dict[str, str]:
    """The tests' own environment, without their wish that the library be silent."""
    return {name: value for name, value in os.environ.items() if name != "POOLGRAD_LOG"}


def run(*command: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; a hang fails the test. ``settings`` are those of subprocess.run, and env adds."""
    environment = user_environment() | settings.pop("env", {})
    options = {"capture_output": True, "text": True, "timeout": PATIENCE, "check": False} | settings
    done = subprocess.run([str(word) for word in command], env=environment, **options)
    done.stderr = complaints(done.stderr)
    return done


def complaints(text: str | None) -> str:
    """What was written to stderr, but for the news that kernels are compiled, which whoever runs first is told."""
    return re.sub(r"^poolgrad: compiling .*\n", "", text or "", flags=re.MULTILINE)
