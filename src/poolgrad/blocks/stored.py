"""Calls of Python on Zarr arrays: from store to store, block by block, without Dask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.stores import UNFINISHED, Stored
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..run.calls import Options, one_or_all, outputs_of
from .calls import judged
from .streams import Stream

IF_MEANT = "pool dask.array.from_zarr(...), which takes them for the fill value, or x[...], which loads all of it"


def call(operator: Operator, arrays: tuple[Any, ...], numbers: tuple[Any, ...], options: Options, out: Any) -> Any:
    """What ``run/calls.py`` is asked for and leaves to us. ``out`` is marked as unfinished while it is written."""
    names = ", ".join(p.name for p in operator.outputs)
    if out is None:
        raise TypeError(
            f"out must be given for Zarr arrays, which may be larger than memory: arrays of Zarr or NumPy for {names}. "
            "Or pool dask.array.from_zarr(...), whose results are lazy; with .view(ml_dtypes.bfloat16) of bits of it."
        )
    if Role.MASK in operator.by_role:
        raise TypeError("masks are one stream over all images and are not written in blocks. Use poolgrad.dask.")
    given = tuple(_part_by_part(p.python_name, array, p.read) for p, array in zip(operator.inputs, arrays, strict=True))
    sinks = tuple(_part_by_part("out", sink, True) for sink in outputs_of(operator, out))
    whole = judged(operator, given, numbers, options, one_or_all(sinks))
    sources = [array if p.read else None for p, array in zip(operator.inputs, given, strict=True)]
    for source in sources:
        if isinstance(source, Stored):
            source.look(IF_MEANT)
    _look_apart(sinks, sources)
    stored = [sink for sink in sinks if isinstance(sink, Stored)]
    chunks = {sink.chunks for sink in stored}
    if len(chunks) > 1:
        raise ValueError(
            f"out must have the same chunks in all its arrays, got {' and '.join(map(str, sorted(chunks)))}: "
            "results are written together, block by block, and a block that cuts a chunk would write it several times."
        )
    for sink in stored:
        sink.array.attrs[UNFINISHED] = True
    Stream(whole, sources, next(iter(chunks), None)).run(sinks)
    for sink in stored:
        del sink.array.attrs[UNFINISHED]
    return out


def _look_apart(sinks: tuple[Any, ...], sources: list[Any]) -> None:
    """A block that is written must not be what another one reads, or writes."""
    others = [source for source in sources if source is not None]
    for sink in sinks:
        for other in others:
            both = isinstance(sink, Stored), isinstance(other, Stored)
            if (all(both) and sink.array.store_path == other.array.store_path) or (
                not any(both) and np.may_share_memory(sink, other)
            ):
                raise ValueError(
                    "out must be another array than those that are read, and each array once. Make a new one."
                )
        others.append(sink)


def _part_by_part(name: str, array: Any, read: bool) -> Any:
    """Something that is read and written in parts; of what is never read, whatever was given."""
    if hasattr(array, "store_path"):
        if not hasattr(array, "chunks"):
            raise TypeError(f"{name} must be a Zarr array, got a Zarr {type(array).__name__}. Give one of its arrays.")
        return Stored(array)
    if array is None or not read or isinstance(array, np.ndarray):
        return array
    raise TypeError(f"{name} must be a Zarr or a NumPy array, as others of this call are, got {type(array).__name__}.")
