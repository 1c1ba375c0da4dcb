"""Golden results for a whole case file: in parallel, resumable, and with a manifest of all that is there."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from .. import __version__
from ..arrays.files import BadFile, in_bytes
from ..run import threads
from ..run.waiting import looking
from .data import Piece
from .judging import judge
from .model import BadCase, Case
from .naming import MANIFEST, directory_name
from .work import Work, bytes_of, entry, finished, write_text


@dataclass(slots=True)
class Golden:
    """What came of a case file: the manifest's entries in the file's order, and how many were made, kept or refused."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: int = 0
    kept: int = 0
    refused: int = 0

    @property
    def unexpected(self) -> list[dict[str, Any]]:
        """The entries whose status is not the one that their case expects."""
        return [e for e in self.entries.values() if e["expected_status"] != e["status"]]


def make_golden(
    cases: Sequence[Case],
    root: Path,
    *,
    jobs: int,
    facts: Mapping[str, Any],
    advance: Callable[[float], None] = lambda cases: None,
) -> Golden:
    """Files for all cases under ``root``, and the manifest, which begins with the facts.

    ``advance`` is told how many cases more are done; parts of large ones count as they are.

    Whatever ends it early leaves whole cases or none; the next run goes on from there.
    """
    directories: dict[str, str] = {}
    for case in cases:
        other = directories.setdefault(directory_name(case.name).casefold(), case.name)
        if other != case.name:
            raise BadCase(f"the cases {other!r} and {case.name!r} would share a directory; rename one")
    golden = Golden(dict.fromkeys(case.name for case in cases))  # type: ignore[arg-type] # filled below
    todo = []
    for case in cases:
        answer = judge(case)
        if answer.error is not None:
            golden.refused += 1
            golden.entries[case.name] = entry(case, answer.status, str(answer.error))
            advance(1)
            continue
        record = finished(case, root / directory_name(case.name))
        if record is None:
            todo.append(case)
            continue
        golden.kept += 1
        golden.entries[case.name] = record | entry(case, record["status"], record["message"])
        advance(1)
    _look_for_space(todo, root)
    golden.made = len(todo)
    with closing(_run_all(todo, root, jobs, advance)) as done:
        for case, record in done:
            golden.entries[case.name] = record
    write_text(root / MANIFEST, _manifest(golden, facts))
    return golden


def _manifest(golden: Golden, facts: Mapping[str, Any]) -> str:
    """JSON, one case to a line."""
    head = json.dumps({"poolgrad": __version__, **facts}, ensure_ascii=False)
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in golden.entries.values())
    return f'{head[:-1]}, "cases": [\n{lines}\n]}}\n'


class Entry(NamedTuple):
    """What the manifest says of a case, as far as verification needs it."""

    status: int
    digest: str
    message: str | None


def read_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a directory; ``BadFile`` if it has none."""
    path = root / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        entries = {
            entry["name"]: Entry(int(entry["status"]), str(entry["digest"]), entry["message"])
            for entry in manifest["cases"]
        }
        return {"seed": manifest["seed"], "product": manifest["product"], "entries": entries}
    except OSError as error:
        raise BadFile(f"{path} can't be read: {error.strerror}; make it with poolgrad golden") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadFile(f"{path} is no manifest of poolgrad golden, or cut off") from error


def _look_for_space(cases: Sequence[Case], root: Path) -> None:
    """All cases must fit the disk before the first byte is written."""
    needed = sum(map(bytes_of, cases))
    there = root
    try:
        while not there.exists():
            there = there.parent
        free = shutil.disk_usage(there).free
        if needed > free:
            raise BadFile(
                f"the cases take {in_bytes(needed)}, and the disk of {there} has {in_bytes(free)} left; "
                "nothing was written"
            )
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(f"{root} can't be written: {error.strerror or error}") from error


LOOK_AGAIN = 0.2  # seconds


class _Stopped(Exception):
    """Someone pressed Ctrl-C, or another worker failed."""


def _run_all(
    cases: Sequence[Case], root: Path, jobs: int, advance: Callable[[float], None]
) -> Generator[tuple[Case, dict[str, Any]]]:
    """Cases with their records, as they are done: pieces of several cases at a time, the largest cases first."""
    stop = threading.Event()
    works: set[Work] = set()
    before = threads.get_num_threads()
    threads.set_num_threads(1)  # the pieces are what runs in parallel
    try:
        with ThreadPoolExecutor(jobs, "golden") as pool:
            try:
                for work, record in _schedule(pool, _tasks(cases, root, works), jobs, stop, advance):
                    works.remove(work)
                    yield work.case, record
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
    finally:
        for work in works:
            work.drop()
        threads.set_num_threads(before)


def _tasks(cases: Sequence[Case], root: Path, works: set[Work]) -> Iterator[tuple[Work, Piece]]:
    """All pieces of all cases; a case's files are opened with its first piece."""
    for case in sorted(cases, key=bytes_of, reverse=True):
        work = Work(case, root)
        works.add(work)
        work.open()
        for piece in work.pieces:
            yield work, piece


def _schedule(
    pool: ThreadPoolExecutor,
    tasks: Iterator[tuple[Work, Piece]],
    jobs: int,
    stop: threading.Event,
    advance: Callable[[float], None],
) -> Iterator[tuple[Work, dict[str, Any]]]:
    def pause() -> None:
        if stop.is_set():
            raise _Stopped

    looks = looking(lambda share: pause())  # a task's kernels, too, stop if a pause ends it
    # Not ``wait``: Ctrl-C in the middle of it may leave locks held, and a worker waiting for them for ever.
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    running: dict[Future[Any], Work] = {}

    def submit(work: Work, task: Callable[..., Any], *arguments: Any) -> None:
        future = pool.submit(looks(task), *arguments)
        running[future] = work
        future.add_done_callback(done.put)

    while True:
        for work, piece in islice(tasks, 2 * jobs - len(running)):
            submit(work, work.run, piece, pause)
        if not running:
            return
        try:  # again and again: a signal that comes just before the wait would be seen after it only
            future = done.get(timeout=LOOK_AGAIN)
        except Empty:
            continue
        work, record = running.pop(future), future.result()
        if record is not None:
            yield work, record
            continue
        advance(1 / len(work.pieces))
        work.left -= 1
        if not work.left:
            submit(work, work.close, pause)
