"""Reading what callers pass. In this layer a wrong argument ends in a status, so every reader is wary."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeGuard

from ..base.status import ACL_ERROR_INVALID_PARAM
from .messages import refusal

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
SIZE = (0, 2**64 - 1)

_LONGEST_TEXT = 80
_INT = frozenset((int,))
_RANGES = {INT32: "a 32-bit integer", INT64: "a 64-bit integer", SIZE: "an unsigned 64-bit integer"}


def as_int(value: object) -> int | None:
    """The integer that ``value`` is (bools and NumPy's integers too), or None for anything else."""
    if type(value) is int:
        return value
    try:
        # torch reads an array of one element as an integer; here that is an array.
        return None if getattr(value, "ndim", 0) else int(operator.index(value))  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - a foreign __index__ may raise anything
        return None


def as_ints(values: object) -> tuple[int, ...] | None:
    """The integers of a sequence, or None if it is none or holds anything else."""
    if _is_plain(values) and _INT.issuperset(map(type, values)):
        return tuple(values)
    # A length is asked for so that an endless generator cannot hang the call.
    if isinstance(values, (str, bytes, bytearray, Mapping, AbstractSet)) or not hasattr(values, "__len__"):
        return None
    try:
        numbers = [as_int(value) for value in itertools.islice(values, len(values))]  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - and so may a foreign __iter__
        return None
    return tuple(number for number in numbers if number is not None) if None not in numbers else None


def _is_plain(values: object) -> TypeGuard[Sequence[Any]]:
    """What almost all pass for several integers; finding out that it is no integer would take longer than all else."""
    return type(values) is tuple or type(values) is list


def is_null(value: object) -> bool:
    """None and 0 both stand for a null pointer."""
    return value is None or (not _is_plain(value) and as_int(value) == 0)


def shown(value: object) -> str:
    """A short text for a message, whatever the value: hostile reprs and endless integers included."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - and a foreign __repr__
        number = as_int(value)
        what = "an object" if number is None else f"an integer of {number.bit_length()} bits,"
        return f"{what} of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def integer(name: str, value: object, limits: tuple[int, int], status: int = ACL_ERROR_INVALID_PARAM) -> int:
    """``value`` as an integer inside ``limits``; else the call is refused with ``status``."""
    number = as_int(value)
    if number is None or not limits[0] <= number <= limits[1]:
        raise refusal(status, f"{name} must be {_RANGES[limits]}, got {shown(value)}; pass an int of that range")
    return number
