"""What all commands share: where they print, how they refuse, and their progress bars."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, ProgressColumn


class _Screen(Console):
    """Where answers are printed. Rich fills the cells of tables with blanks; at the ends of lines they are left out."""

    def print(self, *objects: Any, **options: Any) -> None:
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as printed:
            super().print(*objects, **options)
        self.file.write("\n".join(line.rstrip(" ") for line in printed.get().split("\n")))


# Rich leaves colours out, and draws no bars, where there is no terminal. Tables need not be narrow in a file.
screen = _Screen(highlight=False, width=None if sys.stdout and sys.stdout.isatty() else 160)
errors = Console(stderr=True, highlight=False)

NO = 1  # the exit code of a command whose answer is no

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
FillMissing = Annotated[
    bool,
    typer.Option(
        "--fill-missing",
        help="Take chunks that a Zarr store lacks for its fill value; if absent, such a store is refused as damaged.",
        show_default=False,
    ),
]


def option(*names: str, help: str, **more: Any) -> Any:
    """An option whose help says what its absence means."""
    return typer.Option(*names, help=help, show_default=False, **more)


class Interrupted(Exception):
    """Someone pressed Ctrl-C, or ended a process that lets itself be ended; the text says what to do next, if anything.

    Its code is what shells answer for a program that a signal ended.
    """

    def __init__(self, advice: str, code: int = 128 + signal.SIGINT) -> None:
        super().__init__(advice)
        self.code = code


class _Terminated(KeyboardInterrupt):
    """What SIGTERM is where Ctrl-C would be noticed."""


class BadInput(Exception):
    """A file or an argument that can't be used: one line that says what was expected, what came, what to change."""


def print_json(answer: Any) -> None:
    """Print an answer for machines: one JSON document, never wrapped or coloured."""
    print(json.dumps(answer, ensure_ascii=False, indent=2))


@contextmanager
def interruptible(advice: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end a command with a line that says how to go on, after it has tidied up."""
    by_main = threading.current_thread() is threading.main_thread()  # no other may say what signals do
    before = signal.signal(signal.SIGTERM, _terminate) if by_main else None
    try:
        yield
    except _Terminated as error:
        raise Interrupted(advice, 128 + signal.SIGTERM) from error
    except KeyboardInterrupt as error:
        raise Interrupted(advice) from error
    finally:
        if by_main:
            signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> None:
    raise _Terminated


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[float], None]]:
    """A bar on stderr that vanishes when done, and is never there in pipes; what is yielded takes it on by a number."""
    text, bar_itself, _, remaining = Progress.get_default_columns()
    with _bar(what, total, text, bar_itself, MofNCompleteColumn(), remaining) as bar:
        yield lambda more: bar.advance(bar.task_ids[0], more)


@contextmanager
def percentage(what: str) -> Iterator[Callable[[float], None]]:
    """The same for one long step: what is yielded is to be told the share that is done, from 0 to 1."""
    with _bar(what, 1, *Progress.get_default_columns()) as bar:
        yield lambda share: bar.update(bar.task_ids[0], completed=share)


@contextmanager
def _bar(what: str, total: int, *columns: ProgressColumn) -> Iterator[Progress]:
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        bar.add_task(what, total=total)
        yield bar
