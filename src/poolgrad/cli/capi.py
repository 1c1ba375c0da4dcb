"""``poolgrad capi``: programs written for CANN, compiled and run on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import NO, AsJson, BadInput, print_json

capi = typer.Typer(
    help="Compile and run C and C++ programs that are written for CANN, on this CPU.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

# Everything that comes behind the options is the compiler's or the program's, options included. The short -h would be
# found in any option that has an h, as in -pthread.
_PASS_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": ["--help"],
}


@capi.command()
def build(as_json: AsJson = False) -> None:
    """Build headers and library if they are not there yet, and print the directory that holds them.

    Example: `poolgrad capi build`
    """
    prefix = _build()
    print_json({"prefix": str(prefix)}) if as_json else print(prefix)


@capi.command()
def flags(as_json: AsJson = False) -> None:
    """Print what g++ needs, on one line.

    Example: `g++ sample.cpp $(poolgrad capi flags) -o sample`
    """
    from ..capi.build import link_flags

    found = link_flags(_build())
    print_json(found) if as_json else print(*found)


@capi.command()
def env(
    force: Annotated[bool, typer.Option("--force", help="Also where a CANN installation is set up.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the settings that make compilers, CMake and the loader find the library.

    Example: `eval "$(poolgrad capi env)"`, then `g++ sample.cpp -lascendcl -lnnopbase -lopapi -o sample`
    """
    from ..capi.environment import search_paths, single_paths, true_cann

    cann = true_cann(os.environ.get("ASCEND_HOME_PATH", ""))
    if cann and not force:
        raise BadInput(f"ASCEND_HOME_PATH names a CANN installation, {cann}; pass --force to put poolgrad in its place")
    prefix = _build()
    if as_json:
        print_json(single_paths(prefix) | search_paths(prefix))
        return
    for name, value in single_paths(prefix).items():
        print(f"export {name}={shlex.quote(value)}")
    for name, value in search_paths(prefix).items():
        print(f'export {name}={shlex.quote(value)}"${{{name}:+:${name}}}"')


@capi.command(context_settings=_PASS_ON)
def compile(context: typer.Context) -> None:
    """Compile and link: all arguments are the compiler's. C++ with g++ or CXX, a program of C files with gcc or CC.

    Example: `poolgrad capi compile sample.cpp -o sample`
    """
    _help_if_asked(context, context.args)
    if not context.args:
        raise BadInput(
            "there is nothing to compile; pass sources and options: poolgrad capi compile sample.cpp -o sample"
        )
    raise typer.Exit(subprocess.run(_compile_command(context.args), check=False).returncode)


@capi.command(context_settings=_PASS_ON)
def run(context: typer.Context, source: Annotated[Path, typer.Argument(help="A C or C++ file.")]) -> None:
    """Compile a program, unless that was done before, and run it with the arguments that follow.

    Example: `poolgrad capi run sample.cpp`
    """
    _help_if_asked(context, [str(source), *context.args])
    if not source.is_file():
        raise BadInput(f"there is no file {source}; pass a C or C++ source file")
    program = _compiled(source)
    sys.stdout.flush()
    os.execv(program, [str(source.with_suffix("")), *context.args])


@capi.command()
def info(as_json: AsJson = False) -> None:
    """Show what is used, and try it: a small program is compiled and run.

    Example: `poolgrad capi info`
    """
    from ..capi.build import MARK, compiler

    prefix = _build()
    about = json.loads((prefix / MARK).read_text("utf-8"))
    found: dict[str, Any] = {
        "prefix": str(prefix),
        "interpreter": os.environ.get("POOLGRAD_PYTHON") or about["interpreter"],
        "compiler": shlex.join(compiler()),
    }
    trouble = _self_test()
    if as_json:
        print_json(found | {"self_test": not trouble, "trouble": trouble})
    else:
        for name, value in found.items():
            print(f"{name:<12} {value}")
        print(f"self-test    {'failed: ' + trouble if trouble else 'passed'}")
    if trouble:
        raise typer.Exit(NO)


def _help_if_asked(context: typer.Context, arguments: list[str]) -> None:
    if arguments == ["-h"]:
        print(context.get_help())
        raise typer.Exit


def _build() -> Path:
    from ..capi.build import build

    return build()


def _compile_command(arguments: list[str]) -> list[str]:
    from ..capi.build import compiler, link_flags

    suffixes = {Path(argument).suffix for argument in arguments if not argument.startswith("-")}
    only_c = ".c" in suffixes and not suffixes & {".cpp", ".cc", ".cxx", ".C"}
    command = compiler("CC", "gcc") if only_c else compiler()
    return [*command, *arguments, *link_flags(_build())]


def _compiled(source: Path) -> Path:
    """The program of a source file: kept, and found again as long as nothing that goes into it changes."""
    from ..base.cache_directory import cache_directory
    from ..capi.build import new_directory

    command = _compile_command([str(source)])
    seen = subprocess.run([*command, "-E", "-P"], capture_output=True, check=False)
    if seen.returncode:
        sys.stderr.buffer.write(seen.stderr)
        raise typer.Exit(seen.returncode)
    key = hashlib.sha256(shlex.join(command).encode() + seen.stdout).hexdigest()[:16]
    program = cache_directory().absolute() / "capi-programs" / f"{source.stem}-{key}"
    if not program.exists():
        with new_directory(program.parent) as directory:
            made = directory / "program"
            done = subprocess.run([*command, "-o", str(made)], check=False)
            if done.returncode:
                raise typer.Exit(done.returncode)
            made.replace(program)
    return program


def _self_test() -> str:
    """What is wrong, or nothing."""
    from ..capi.environment import self_test

    text, expected = self_test()
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory) / "self_test.cpp", Path(directory) / "self_test"
        source.write_text(text, "utf-8")
        for command in (_compile_command([str(source), "-o", str(program)]), [str(program)]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return " ".join((done.stderr or done.stdout or f"exit code {done.returncode}").split())[:500]
    return "" if done.stdout == expected else f"expected {expected!r}, got {done.stdout!r}"
