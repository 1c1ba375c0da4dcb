"""What someone's device wrote, against the golden results of a case file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..arrays.files import SUFFIXES, BadFile, read_array
from ..base.status import ACLNN_SUCCESS, name_of
from ..contract.support import OF_PLACES
from ..precision import Comparison, NotComparable
from ..precision.comparing import Tensors, judge_tensors
from ..precision.limits import WITH_THIRD_PARTY
from .data import Array
from .golden import LOOK_AGAIN, Entry
from .judging import surprise
from .lines import digest
from .model import Case
from .naming import directory_name
from .work import GOLDEN, file_of

PASS, FAIL, MISSING, BAD, REFUSED = "pass", "fail", "missing", "bad", "refused"
# The worst first.
ORDER = (BAD, MISSING, FAIL, PASS, REFUSED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one case: pass or fail, an output that is missing or can't be used, or a refusal with no output."""

    case: str
    verdict: str
    text: str
    comparison: Comparison | None = None

    @property
    def failed(self) -> bool:
        return self.verdict in (BAD, MISSING, FAIL)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sorts the worst first: by verdict, then by how much passed, then by the largest error."""
        c = self.comparison
        figures = (c.share_passed, -c.max_ulp) if c else (1.0, 0)
        return (ORDER.index(self.verdict), *figures, self.case)


def verify(
    cases: Sequence[Case],
    entries: Mapping[str, Entry],
    root: Path,
    actual: Path,
    *,
    standard: str | None,
    jobs: int,
) -> Iterator[Outcome]:
    """An outcome for each case, in their order. ``BadFile`` if a golden result is not that of its case."""
    for case in cases:
        if case.name not in entries:
            raise BadFile(f"{root} has no golden result for the case {case.name!r}; run poolgrad golden again")
        if entries[case.name].digest != digest(case):
            raise BadFile(f"{root}: the case {case.name!r} has changed since; run poolgrad golden again")

    stop = threading.Event()

    def pause(elements: int) -> None:
        if stop.is_set():
            raise _Stopped

    def one(case: Case) -> Outcome:
        try:
            return _outcome(case, entries[case.name], root, actual, standard, pause)
        except (BadFile, NotComparable) as error:
            return Outcome(case.name, BAD, str(error))

    pool = ThreadPoolExecutor(jobs, "verify")
    try:
        for future in [pool.submit(one, case) for case in cases]:
            while not future.done():
                with contextlib.suppress(TimeoutError):
                    future.exception(LOOK_AGAIN)
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


class _Stopped(Exception):
    """Someone pressed Ctrl-C."""


def _outcome(
    case: Case, made: Entry, root: Path, actual: Path, standard: str | None, pause: Callable[[int], None]
) -> Outcome:
    name, status = directory_name(case.name), made.status
    if status != case.expected:
        return Outcome(case.name, FAIL, surprise(case.expected, status, made.message))
    told = _status(actual / name / "status.txt")
    if told not in (None, status):
        return Outcome(case.name, FAIL, f"status {_named(told)}; expected {_named(status)}")
    if status != ACLNN_SUCCESS:
        if told is None:
            return Outcome(case.name, REFUSED, f"status {_named(status)}; no output to compare")
        return Outcome(case.name, PASS, f"status {_named(status)}, as expected")
    found = (_compared(case, output, root, actual, standard, pause) for output in case.outputs)
    return min(found, key=lambda outcome: outcome.rank)


def _compared(
    case: Case, output: str, root: Path, actual: Path, standard: str | None, pause: Callable[[int], None]
) -> Outcome:
    """One output; files of further ones have its name behind an underscore."""
    name, tensor, made = directory_name(case.name), case.tensor(output), file_of(case, output)
    which = made.removeprefix(GOLDEN).removesuffix(".npy")
    standard = "binary" if output in _places(case) else standard or case.standard or "mixed"
    arrays: dict[str, Array] = {}
    for part in ("actual", "third_party") if standard in WITH_THIRD_PARTY else ("actual",):
        path = _found(actual, name, part, which)
        if path is None:
            return Outcome(case.name, MISSING, f"there is no {actual / name / part}{which}.npy or .bin")
        arrays[part] = read_array(path, dtype=tensor.dtype, shape=tensor.shape)
    golden = read_array(root / name / made, dtype=tensor.dtype, shape=tensor.shape)
    tensors = Tensors(arrays["actual"], golden, arrays.get("third_party"))
    hf32 = str(case.operator.rounding(case.call)).startswith("hf32")
    found = judge_tensors(tensors, standard, hf32=hf32, advance=pause)
    text = found.summary().removeprefix(f"{found.verdict} ")
    return Outcome(case.name, PASS if found.passed else FAIL, f"{output}: {text}" if which else text, found)


def _places(case: Case) -> list[str]:
    """Outputs that are indices or masks: no standard is for those, they are right or wrong."""
    return [p.name for p in case.operator.outputs if p.role in OF_PLACES]


def _found(actual: Path, name: str, part: str, which: str) -> Path | None:
    """A directory per case, or, for outputs, a file per case."""
    places = [actual / name / f"{part}{which}{suffix}" for suffix in SUFFIXES]
    if part == "actual":
        places += [actual / f"{name}{which}{suffix}" for suffix in SUFFIXES]
    return next((path for path in places if path.exists()), None)


def _status(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadFile(f"{path}: expected a status such as 161002 and nothing else") from error


def _named(status: int | None) -> str:
    return f"{status} {name_of(status or 0)}"
