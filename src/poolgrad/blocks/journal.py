"""What is known of results that are not complete, beside them on the disk: so a run goes on where it was broken off.

Results have other names until they are complete. A journal names the call that they are of, and the blocks that have
been written. It is written some seconds after them, when the disk has them: a block that it lacks is computed again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ..arrays.files import BadFile
from ..arrays.stores import look_at_place

SECONDS_BETWEEN_NOTES = 5.0


def unfinished(path: Path) -> Path:
    """The name of a result that is not complete."""
    return path.with_name(f".{path.name}.part")


class Journal:
    """Of results that are being written. ``finished`` are the numbers of the blocks that it has noted, in any run."""

    def __init__(self, file: IO[str], finished: set[int], flush: Callable[[list[int]], None]) -> None:
        self.finished = finished
        self._file, self._flush, self._new = file, flush, list[int]()
        self._next = time.monotonic() + SECONDS_BETWEEN_NOTES

    def note(self, number: int) -> None:
        self._new.append(number)
        if time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Note what is finished, after it is on the disk."""
        if self._new:
            self._flush(self._new)
            self._file.write("".join(f"{number}\n" for number in self._new))
            self._file.flush()
            os.fsync(self._file.fileno())
            self.finished.update(self._new)
            self._new.clear()
        self._next = time.monotonic() + SECONDS_BETWEEN_NOTES


@contextmanager
def journal_of(
    paths: Sequence[Path],
    facts: Mapping[str, Any],
    flush: Callable[[list[int]], None],
    spoils: tuple[type[BaseException], ...],
) -> Iterator[Journal]:
    """The journal of results under these names, which they get when the block ends without an exception.

    ``flush`` has the disk take the results of these blocks. Without a journal of the same ``facts`` that notes a block
    everything begins anew. After an exception all is kept for the next run, if there is anything, unless it is one of
    ``spoils``, after which there is nothing to go on with.
    """
    name = unfinished(paths[0]).with_suffix(".journal")
    head = json.dumps(facts, sort_keys=True, default=str)
    try:
        with open(name, "a+", encoding="utf-8") as file:
            _lock(file, name)
            finished = _read(file, head, all(unfinished(path).exists() for path in paths))
            if finished is None:
                for path in paths:
                    _remove(unfinished(path))
                file.truncate(0)
                file.write(head + "\n")
                file.flush()
                finished = set()
            journal = Journal(file, finished, flush)
            try:
                yield journal
            except BaseException as error:
                with suppress(OSError):
                    journal.write()
                if isinstance(error, spoils) or not journal.finished:
                    for path in paths:
                        _remove(unfinished(path))
                    name.unlink()
                raise
            journal.write()
            for path in paths:
                _give_name(path)
            name.unlink()
    except OSError as error:
        raise BadFile(f"{paths[0]} can't be written: {error.strerror or error}") from error


def _lock(file: IO[str], name: Path) -> None:
    try:
        import fcntl
    except ImportError:  # on systems without it nobody is kept away
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadFile(f"{name} is locked: another run writes this result; wait for it, or end it") from None


def _read(file: IO[str], head: str, results_are_there: bool) -> set[int] | None:
    """The finished blocks; None if it is the journal of something else, or of nothing."""
    file.seek(0)
    first, *lines = file.read().split("\n")
    if first != head or not results_are_there:
        return None
    return {int(line) for line in lines[:-1] if line.isdigit()} or None  # the last one may be cut off


def _give_name(path: Path) -> None:
    """A directory can't take the place of another one in one step: what was there goes away first."""
    look_at_place(path)  # once more: it may have come since the run began
    if path.is_dir():
        _remove(path)
    os.replace(unfinished(path), path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
