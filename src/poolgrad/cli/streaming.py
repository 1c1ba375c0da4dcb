"""What is too large for memory, or lies in Zarr stores: a call block by block, from where it was broken off."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..arrays.files import BadFile, map_unfinished, numpy_dtype
from ..arrays.stores import Stored, create_store, is_store
from ..base.errors import AclnnError
from ..blocks.calls import Whole, judged
from ..blocks.journal import journal_of, unfinished
from ..blocks.streams import Stream
from ..contract.parameters import Role
from .terminal import BadInput, interruptible, progress

if TYPE_CHECKING:
    from ..cases.model import Case

# Bytes of all files from which on they are not mapped into memory as a whole.
LARGE = 1 << 28
GO_ON = "the same command goes on where this one stopped"


def is_streamed(case: Case, arrays: Mapping[str, Any], files: Sequence[Path]) -> bool:
    """Whether the call is computed in blocks; a mask is one stream of bytes, and can't be."""
    stores = [str(path) for path in files if is_store(path)]
    stores += [array.name for array in arrays.values() if isinstance(array, Stored)]
    if Role.MASK in case.operator.by_role:
        if stores:
            raise BadInput(
                f"{stores[0]}: masks are not made or read in blocks; use .npy files, or poolgrad.dask in Python"
            )
        return False
    tensors = [case.tensor(name) for name in (*(arrays), *case.outputs)]
    return bool(stores) or sum(numpy_dtype(t.dtype).itemsize * t.count for t in tensors) >= LARGE


def stream(
    case: Case, arrays: Mapping[str, Any], sources: Mapping[str, str], files: Sequence[Path]
) -> list[tuple[str, str, Any]]:
    """Each file, its type and its shape. ``sources`` are the files that are read."""
    operator = case.operator
    given = tuple(arrays.get(p.name, case.tensor(p.name).shape) for p in operator.inputs)
    places = operator.by_role.get(Role.PLACES)
    options = (
        case.product,
        case.of(Role.INPUT).format if case.is_channels_last else None,
        None if places is None else case.tensor(places.name).dtype,
    )
    whole = judged(operator, given, tuple(case.numbers[p.name] for p in operator.numbers), options)
    read = [array if p.read else None for p, array in zip(operator.inputs, given, strict=True)]
    work = Stream(whole, read)
    sinks: list[Any] = []
    facts = _facts(whole, work, sources, files)
    with (
        interruptible(GO_ON),
        progress(operator.name, work.count) as advance,
        journal_of(files, facts, lambda numbers: _flush(sinks, numbers), (AclnnError,)) as journal,
    ):
        like = next((array for array in read if isinstance(array, Stored)), None)
        for path, tensor in zip(files, whole.results, strict=True):
            sinks.append(_opened(path, numpy_dtype(tensor.dtype.name), tensor.shape, work.sizes, like))
        for sink in sinks:
            if isinstance(sink, Stored):  # whose chunks are the blocks
                journal.finished.difference_update(sink.lacking())
        advance(len(journal.finished))

        def note(number: int) -> None:
            journal.note(number)
            advance(1)

        work.run(sinks, journal.finished, note)
        for path, sink in zip(files, sinks, strict=True):
            if isinstance(sink, Stored) and (lost := sink.lacking()):
                raise BadFile(f"{path}: {len(lost)} chunks that were written are gone; run the same command again")
    return [(str(path), tensor.dtype.name, tensor.shape) for path, tensor in zip(files, whole.results, strict=True)]


def _opened(path: Path, dtype: Any, shape: tuple[int, ...], chunks: tuple[int, ...], like: Stored | None) -> Any:
    if is_store(path):
        return create_store(unfinished(path), dtype, shape, chunks, like)
    return map_unfinished(unfinished(path), path.suffix.lower(), dtype, shape)


def _flush(sinks: Sequence[Any], numbers: list[int]) -> None:
    """Have the disk take these blocks, which are the chunks of stores."""
    for sink in sinks:
        if isinstance(sink, Stored):
            sink.keep(numbers)
            continue
        mapped = sink if hasattr(sink, "flush") else getattr(sink, "base", None)
        if mapped is not None and hasattr(mapped, "flush"):
            mapped.flush()


def _facts(whole: Whole, work: Stream, sources: Mapping[str, str], files: Sequence[Path]) -> dict[str, Any]:
    """What must not have changed if an unfinished result is to be gone on with."""
    return {
        "poolgrad": __version__,
        "operator": whole.operator_name,
        "numbers": whole.numbers,
        "options": whole.options,
        "inputs": [(dtype.name, shape) for dtype, shape in whole.inputs],
        "sources": {name: _state(Path(path)) for name, path in sources.items()},
        "results": [str(path.absolute()) for path in files],
        "sizes": work.sizes,
    }


def _state(path: Path) -> tuple[str, str]:
    """The names, sizes and times of all files of a store; or those of a file."""
    files = (
        (Path(place, name) for place, _, names in os.walk(path, followlinks=True) for name in names)
        if path.is_dir()
        else (path,)
    )
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(files):
        found = file.stat()
        digest.update(
            f"{file.relative_to(path)} {found.st_size} {found.st_mtime_ns}\n".encode(errors="surrogateescape")
        )
    return str(path.resolve()), digest.hexdigest()
