"""The words in which the files of ``documents`` say what an operator's document says.

They are written by hand, not from the operators' files: the code can't be its own witness. Everything that is tested
of every operator, through every door, is collected from them (``contract_cases``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

NO_PRODUCT = "no product"
PRODUCTS = (
    "Atlas A2",
    "Atlas A3",
    "Atlas inference series",
    "Atlas training series",
    "Ascend 950",
    "Atlas 200I/500 A2",
)
A2_A3, CLASSIC, A950 = PRODUCTS[:2], PRODUCTS[2:4], PRODUCTS[4:5]
MODERN = (*A2_A3, *A950)

NULL, INVALID = 161001, 161002
CHANNELS_LAST = ("NHWC", "NDHWC")


@dataclass(frozen=True)
class T:
    """A tensor argument. Only those of samples have values, perhaps ``stored`` as another type than they are told."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    format: str = "NCHW"
    read_only: bool = False
    values: Sequence[float] | None = None
    stored: str = ""
    strides: tuple[int, ...] | None = None  # in elements; contiguous if nobody says


class Unknown:
    """An argument whose handle is no live object."""


UNKNOWN = Unknown()
Call = Mapping[str, Any]


def all_of(names: str, **fields: Any) -> dict[str, Any]:
    """The same change of several tensors."""
    return dict.fromkeys(names.split(), fields)


def changed(call: Call, changes: Call) -> dict[str, Any]:
    """The call with other arguments; a dict changes fields of a tensor."""
    assert changes.keys() <= call.keys(), f"{changes.keys() - call.keys()} are no parameters"
    new = {name: replace(call[name], **c) if isinstance(c, dict) else c for name, c in changes.items()}
    return {**call, **new}


@dataclass(frozen=True)
class Line:
    """A call that differs from the legal one, and what comes of it: success, or the row that decides."""

    why: str
    changes: Call
    on: tuple[str, ...] | None  # None: every product that has the operator, and none at all
    row: str = ""
    blamed: str = ""
    status: int = 0
    told: str = ""


def allowed(why: str, /, on: tuple[str, ...] | None = None, **changes: Any) -> Line:
    """A legal call. It is tried with every dtype, format and rank."""
    return Line(why, changes, on)


def refused(
    row: str,
    why: str,
    blamed: str = "",
    /,
    on: tuple[str, ...] | None = None,
    status: int = INVALID,
    told: str = "",
    **changes: Any,
) -> Line:
    """A call that breaks this row and none before it. The argument to blame is the changed one, if it is but one.

    ``told`` is a part of the message. Two lines without a common argument are also tried together, and then the
    earlier row must decide: whatever could mend the line has to stand in it.
    """
    if not blamed:
        (blamed,) = changes
    return Line(why, changes, on, row, blamed, status, told)


class Legal:
    """What may be combined on some products: formats by rank, and by each dtype of the legal call those that may stand
    in its place."""

    def __init__(self, on: tuple[str, ...], formats: Mapping[int, str], /, **dtypes: str) -> None:
        self.on = on
        self.formats = {rank: names.split() for rank, names in formats.items()}
        self.dtypes = {dtype: names.split() for dtype, names in dtypes.items()}

    def forms(self) -> Iterator[Form]:
        for names in itertools.product(*self.dtypes.values()):
            for rank, formats in self.formats.items():
                for format in formats:
                    yield Form(rank, format, dict(zip(self.dtypes, names, strict=True)))


@dataclass(frozen=True)
class Form:
    """One combination; it turns a call of full rank into its own."""

    rank: int
    format: str
    dtypes: Mapping[str, str]

    def of(self, call: Call, usual_format: str) -> dict[str, Any]:
        return {n: self._tensor(a, usual_format) if isinstance(a, T) else a for n, a in call.items()}

    def _tensor(self, tensor: T, usual_format: str) -> T:
        shape = tensor.shape[-self.rank :]
        if self.format in CHANNELS_LAST:
            batch = len(shape) - len(self.format) + 1  # axes before the channels
            shape = (*shape[:batch], *shape[batch + 1 :], shape[batch])
        format = self.format if tensor.format == usual_format else tensor.format
        return replace(tensor, shape=shape, format=format, dtype=self.dtypes.get(tensor.dtype, tensor.dtype))


@dataclass(frozen=True)
class Sample:
    """A program: its call with the values of what is given, and what it prints, or with which status it ends."""

    call: Call
    results: Mapping[str, Sequence[float]] = field(default_factory=dict)
    why: str = "the document's program"
    on: tuple[str, ...] | None = None
    status: int = 0
    told: tuple[str, ...] = ()  # parts of the message of one that fails

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Its tensors, with zeros where it gives no values."""
        tensors = {name: t for name, t in self.call.items() if isinstance(t, T)}
        arrays = {name: np.zeros(t.shape, t.dtype) for name, t in tensors.items()}
        for name, t in tensors.items():
            if t.values is not None:
                arrays[name].flat = t.values
        return arrays


@dataclass(frozen=True)
class Document:
    name: str
    header: str  # below aclnnop/
    signature: str  # the parameters of phase one in C, before workspaceSize and executor
    products: tuple[str, ...]
    legal: Call  # of full rank, on every product
    combinations: Sequence[Legal]
    order: str  # the rows in which the checks are made; rows of our own stand where they are harmless
    refused: Sequence[Line]
    samples: Sequence[Sample]
    nullable: str = ""  # pointers that may be null
    lengths: Mapping[str, Sequence[int | None]] = field(default_factory=dict)  # that arrays may have; None: null
    allowed: Sequence[Line] = ()
    refused_first: tuple[str, ...] = ()  # products that a row of their own refuses, before the others
    # Tensors of which one that differs is the one to blame, by what they must agree in.
    alike: Mapping[str, str] = field(default_factory=dict)
    suite: str = ""  # cases that its suite must have

    @cached_property
    def types(self) -> dict[str, str]:
        """The C types of the parameters, in their order."""
        words = (" ".join(part.split()).rpartition(" ") for part in self.signature.split(","))
        return {name: type for type, _, name in words}

    @property
    def outputs(self) -> list[str]:
        return [name for name, type in self.types.items() if type == "aclTensor*"]

    @property
    def pointers(self) -> list[str]:
        return [name for name, type in self.types.items() if type.endswith("*")]

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.products, NO_PRODUCT)

    @property
    def tensors(self) -> dict[str, T]:
        return {name: value for name, value in self.legal.items() if isinstance(value, T)}

    @property
    def format(self) -> str:
        return next(iter(self.tensors.values())).format

    def forms_on(self, product: str) -> list[Form]:
        return [form for legal in self.combinations if product in legal.on for form in legal.forms()]

    def calls_on(self, product: str) -> list[dict[str, Any]]:
        """The legal call with arrays of all lengths, and those that are legal besides."""
        lengths = [
            [None if n is None else self.legal[name][:n] for n in numbers] for name, numbers in self.lengths.items()
        ]
        calls = [{**self.legal, **dict(zip(self.lengths, v, strict=True))} for v in itertools.product(*lengths)]
        return calls + [changed(self.legal, x.changes) for x in self.allowed if product in (x.on or self.every)]

    def lines(self) -> list[Line]:
        """The calls that break a row, those first that every operator has."""
        return [*self._common(), *self.refused]

    def _common(self) -> Iterator[Line]:
        for name in self.pointers:
            if name not in self.nullable.split():
                yield refused(f"{name}-null", f"{name} is null", status=NULL, **{name: None})
        for name in self.pointers:
            yield refused("handles", f"{name} is no handle", **{name: UNKNOWN})
        missing = tuple(product for product in PRODUCTS if product not in (*self.products, *self.refused_first))
        yield refused("product", "the product lacks the operator", "product", on=missing)
        yield refused("int64", "a size beyond 64 bits", self={"shape": (2**70, *self.legal["self"].shape[1:])})
        for name in self.outputs:
            yield refused(f"{name}-writable", "the output is read-only", **{name: {"read_only": True}})
        huge = {name: {"shape": (2**30, 2**30, *t.shape[2:])} for name, t in self.tensors.items()}
        yield refused("sizes", "2**64 bytes and more", next(iter(huge)), **huge)
