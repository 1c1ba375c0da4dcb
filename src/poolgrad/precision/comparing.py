"""The way of a comparison: two or three tensors in, block by block past a judge, one answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..arrays.adapters import as_numpy
from ..arrays.stores import Stored
from . import limits
from .comparison import Comparison, Position
from .cross import CrossCheck
from .errors import Block, Errors, measure, quiet
from .judges import Binary, Close, Cosine, Judge, Mixed, StatRelErr
from .tally import Tally
from .ttk import CloseTtk, CosineTtk, CrossCheckTtk

# Elements in a block. Sums are taken by block, so this number is part of every mean's last digits: it is never changed
# to suit a machine. Temporary arrays of a block fit a second-level cache, and take no memory worth mentioning.
BLOCK = 1 << 16

# A golden tensor may be of the actual one's type, or of one that holds all its values.
_WIDER = {
    "float16": ("float16", "float32", "float64"),
    "bfloat16": ("bfloat16", "float32", "float64"),
    "float32": ("float32", "float64"),
    "float64": ("float64",),
    "int8": ("int8",),
    "uint8": ("uint8",),
    "int16": ("int16",),
    "uint16": ("uint16",),
    "int32": ("int32", "int64"),
    "int64": ("int64",),
}


class NotComparable(ValueError):
    """The tensors can't be compared, or not by this standard."""


@dataclass(frozen=True, slots=True)
class Tensors:
    """What is compared: arrays of one shape, of NumPy or in stores, read in C order."""

    actual: Block | Stored
    golden: Block | Stored
    third_party: Block | Stored | None = None

    @property
    def all(self) -> list[Block | Stored]:
        return [array for array in (self.actual, self.golden, self.third_party) if array is not None]


def compare(
    actual: Any,
    golden: Any,
    standard: str = "mixed",
    *,
    third_party: Any = None,
    level: str = "L1",
    hf32: bool = False,
) -> Comparison:
    """Judge ``actual`` against ``golden`` by a named precision standard.

    The standards are mixed (also called mix_tolerance), stat_rel_err, close, cosine, binary and cross_check; the last
    one needs a ``third_party`` tensor and has the levels L0, L1 and L2. All but stat_rel_err also exist as TTK's code
    decides them: mixed_ttk and so on. ``hf32`` says that a float32 tensor was computed in HF32. The element type of
    ``actual`` chooses the thresholds; ``golden`` is of the same type or of a wider one. Arrays are NumPy's, torch's CPU
    tensors or anything with ``__dlpack__``; memory-mapped ones may be larger than memory. Raises ``NotComparable``, a
    ``ValueError``, where types or shapes do not fit together.

    >>> import numpy as np
    >>> golden = np.ones((2, 3), np.float32)
    >>> answer = compare(golden * np.float32(1.5), golden)
    >>> answer.passed, answer.share_passed, answer.worst.coordinates
    (False, 0.0, (0, 0))
    """
    arrays = as_numpy(actual, "actual"), as_numpy(golden, "golden")
    tensors = Tensors(*arrays, None if third_party is None else as_numpy(third_party, "third_party"))
    return judge_tensors(tensors, standard, level=level, hf32=hf32)


@quiet
def judge_tensors(
    tensors: Tensors,
    standard: str,
    *,
    level: str = "L1",
    hf32: bool = False,
    advance: Callable[[int], object] = lambda elements: None,
) -> Comparison:
    """``compare`` for arrays of NumPy; ``advance`` is told the number of elements after each block."""
    judge = judge_for(tensors, standard, level=level, hf32=hf32)
    tally = Tally()
    for errors, third in measured(tensors):
        relative = errors.relative
        passes = judge.accepts(errors, relative)
        tally.add(errors, relative, passes, judge.badness(errors, relative))
        judge.see(errors, third)
        advance(len(passes))
    reasons = judge.mismatch_reasons(tally) + judge.reasons(tally)
    return Comparison(
        passed=not reasons,
        standard=limits.ALIASES.get(standard, standard),
        dtype=tensors.actual.dtype.name,
        golden_dtype=tensors.golden.dtype.name,
        hf32=hf32,
        shape=tensors.actual.shape,
        thresholds=MappingProxyType(judge.thresholds),
        reasons=tuple(reasons),
        count=tally.count,
        count_passed=tally.passing,
        mere=tally.mean_relative,
        mare=float(tally.relative.value),
        max_abs=float(tally.absolute.value),
        max_ulp=tally.ulp.value,
        nan_mismatches=tally.nan_mismatches,
        inf_mismatches=tally.inf_mismatches,
        cosine_distance=judge.distance if isinstance(judge, Cosine) else None,
        figures=MappingProxyType(judge.figures()),
        first=position(tensors, tally.first),
        worst=position(tensors, tally.badness.place),
        at_max_abs=position(tensors, tally.absolute.place),
        at_max_ulp=position(tensors, tally.ulp.place),
        ulp_histogram=tuple(tally.histogram.tolist()),
    )


def judge_for(tensors: Tensors, standard: str, *, level: str = "L1", hf32: bool = False) -> Judge:
    """A judge with the thresholds for these tensors; ``NotComparable`` if they do not go together."""
    name = limits.ALIASES.get(standard, standard)
    if name not in limits.STANDARDS:
        raise NotComparable(f"standard must be one of {', '.join(limits.STANDARDS)}; got {standard!r}.")
    if level not in limits.LEVELS:
        raise NotComparable(f"level must be one of {', '.join(limits.LEVELS)}; got {level!r}.")
    _check_types(tensors)
    dtype = tensors.actual.dtype.name
    if hf32 and dtype != "float32":
        raise NotComparable(f"hf32 is a way to compute float32; actual is {dtype}. Leave hf32 out.")
    if (name in limits.WITH_THIRD_PARTY) != (tensors.third_party is not None):
        raise NotComparable(
            f"{name} compares with a third party's tensor: give it as third_party (--third-party)."
            if name in limits.WITH_THIRD_PARTY
            else f"third_party belongs to the standard cross_check, not to {name}. Leave it out, or use cross_check."
        )
    if name == "binary_ttk" and tensors.golden.dtype.name != dtype:
        raise NotComparable(
            f"golden must be {dtype}, as actual is, by binary_ttk; got {tensors.golden.dtype.name}. "
            "Use binary, or convert one of them first."
        )
    row = "HF32" if hf32 else dtype
    try:
        return _JUDGES[name](row, level)
    except KeyError:
        hint = "Use mixed." if hf32 else "Use binary."
        raise NotComparable(f"the standard {name} has no thresholds for {row}. {hint}") from None


# By their names: a judge from the row of its table of limits, and from the level.
_JUDGES: dict[str, Callable[[str, str], Judge]] = {
    "mixed": lambda row, level: Mixed(limits.MIXED[row]),
    "mixed_ttk": lambda row, level: Mixed(limits.MIXED_TTK[row]),
    "stat_rel_err": lambda row, level: StatRelErr(limits.STAT_REL_ERR[row]),
    "close": lambda row, level: Close(limits.CLOSE[row]),
    "close_ttk": lambda row, level: CloseTtk(limits.CLOSE[row], in_float16=row == "float16"),
    "cosine": lambda row, level: Cosine(),
    "cosine_ttk": lambda row, level: CosineTtk(),
    "binary": lambda row, level: Binary(),
    "binary_ttk": lambda row, level: Binary(),
    "cross_check": lambda row, level: CrossCheck(limits.CROSS_SMALL[row], limits.CROSS_RATIOS[level]),
    "cross_check_ttk": lambda row, level: CrossCheckTtk(limits.CROSS_SMALL[row], limits.CROSS_RATIOS[level]),
}


def _check_types(tensors: Tensors) -> None:
    dtype, shape = tensors.actual.dtype.name, tensors.actual.shape
    if dtype not in _WIDER:
        raise NotComparable(f"actual must be of one of the types {', '.join(_WIDER)}; got {dtype}.")
    for name, other in (("golden", tensors.golden), ("third_party", tensors.third_party)):
        if other is None:
            continue
        if other.shape != shape:
            raise NotComparable(f"{name} must have the shape of actual, {list(shape)}; got {list(other.shape)}.")
        if other.dtype.name not in _WIDER[dtype]:
            allowed = " or ".join(_WIDER[dtype])
            raise NotComparable(
                f"{name} must be {allowed} where actual is {dtype}; got {other.dtype.name}. Convert one of them first."
            )


def measured(tensors: Tensors) -> Iterator[tuple[Errors, Errors | None]]:
    """The errors of each block in C order, and those of the third party."""
    for blocks in zip(*map(blocks_of, tensors.all), strict=True):
        actual, golden = blocks[:2]
        yield measure(actual, golden), measure(blocks[2], golden) if len(blocks) == 3 else None


def blocks_of(array: Any) -> Iterator[Block]:
    """The elements in C order, in blocks that are contiguous and in native byte order."""
    native = array.dtype.newbyteorder("=")
    dense = isinstance(array, np.ndarray) and array.flags.c_contiguous
    flat = array.reshape(-1) if dense else array.flat  # the latter copies what is taken of it
    for start in range(0, array.size, BLOCK):
        yield flat[start : start + BLOCK].astype(native, copy=False)


@quiet
def position(tensors: Tensors, place: int | None) -> Position | None:
    """What stands at a place in C order."""
    if place is None:
        return None
    actual, golden = (array.flat[place : place + 1].astype(array.dtype.newbyteorder("=")) for array in tensors.all[:2])
    errors = measure(actual, golden)
    number = int if actual.dtype.kind in "iu" else float
    return Position(
        coordinates=tuple(int(c) for c in np.unravel_index(place, tensors.actual.shape)),
        actual=number(actual[0]),
        golden=number(golden[0]),
        absolute=float(errors.absolute[0]),
        relative=float(errors.relative[0]),
        ulp=int(errors.ulp[0]) if errors.finite[0] else None,
    )
