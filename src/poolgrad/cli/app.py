"""The list of commands, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..arrays.files import BadFile
from .capi import capi
from .cases import cases
from .check import check
from .compare import compare
from .doctor import doctor
from .explain import explain
from .golden import golden
from .run import run
from .support import support
from .terminal import BadInput, Interrupted, errors
from .verify import verify
from .view import view


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Typer itself would end without a word after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted(str(error)) from error


app = typer.Typer(
    name="poolgrad",
    cls=_Commands,
    help="Golden results, verdicts and contract answers for CANN's pooling operators, on the CPU.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (run, golden, verify, compare, check, explain, support, cases, view, doctor):
    app.command()(_command)
app.add_typer(capi, name="capi")


def _without_docstrings() -> None:
    """Under ``python -OO`` functions have no docstrings, which are the commands' help; their source still has them."""
    for info in (*app.registered_commands, *capi.registered_commands):
        command = info.callback
        if command is not None and command.__doc__ is None and info.help is None:
            info.help = _docstring(command.__module__, command.__name__)


def _docstring(module: str, function: str) -> str | None:
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:  # an installation without sources
        return None
    found = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function)
    return next(map(ast.get_docstring, found), None)


if sys.flags.optimize > 1:
    _without_docstrings()


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"poolgrad {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Exit code 0: yes, done; 1: the answer is no; 2: bad usage or a bad file; 130: Ctrl-C."""
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
    except (BadInput, BadFile) as error:
        _refuse(str(error))
    except Interrupted as error:
        _tell(f"interrupted; {error}" if str(error) else "interrupted")
        # All files are whole or gone by now. Python would first wait for a kernel that is being compiled, and tidy up.
        os._exit(error.code)
    except BrokenPipeError:  # `poolgrad ... | head` has seen enough
        _forget_output()
        sys.exit(1)
    except OSError as error:
        _forget_output()
        _refuse(f"the answer can't be written: {error.strerror or error}")


def _forget_output() -> None:
    """What can't be written now can't be written when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(reason: str) -> None:
    _tell(reason)
    sys.exit(2)


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):  # there may be nobody to tell
        errors.print(f"poolgrad: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
