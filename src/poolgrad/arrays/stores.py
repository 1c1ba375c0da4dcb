"""Arrays in Zarr stores of version 2 and 3. zarr is imported with the first of them.

A chunk that is missing means the fill value, as Zarr has it; or a copy was broken off, and nobody can tell which. So a
store that lacks chunks is refused unless somebody says that they are meant. What is written here has all of its chunks,
also those of zeros. bfloat16, which Zarr does not have, is kept as uint16 with an attribute that says so. Numbers come
in the byte order of this machine, whatever the store's is.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import BFLOAT16, SUFFIXES, BadFile, numpy_dtype

SUFFIX = ".zarr"
# Attributes: of bits that are bfloat16, and of results that are not complete.
BITS_OF, UNFINISHED = "poolgrad_dtype", "poolgrad_unfinished"
_DESCRIBE = ("zarr.json", ".zarray", ".zattrs")


class Stored:
    """An array of a store: parts of it come as NumPy arrays, and are written as such; ``BadFile`` where that fails."""

    def __init__(self, array: Any, name: str = "", bfloat16: bool = False) -> None:
        self.array, self.name = array, name or str(array.store_path)
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.size = math.prod(self.shape)
        # What is written at once: a shard where there are any.
        self.chunks: tuple[int, ...] = tuple(getattr(array, "shards", None) or array.chunks)
        self._bits = bfloat16 or array.attrs.get(BITS_OF) == BFLOAT16.name
        self._native: np.dtype[Any] = array.dtype.newbyteorder("=")
        self.dtype: np.dtype[Any] = BFLOAT16 if self._bits else self._native
        if self._bits and array.dtype.name not in ("uint16", "int16"):
            raise BadFile(f"{self.name} holds {array.dtype.name}, and not bfloat16, whose bits are uint16")

    def __getitem__(self, part: Any) -> NDArray[Any]:
        with self._telling("read", part):
            found = np.asarray(self.array[part], self._native)
        return found.view(BFLOAT16) if self._bits else found

    def __setitem__(self, part: Any, values: NDArray[Any]) -> None:
        with self._telling("written", part):
            self.array[part] = values.view(self._native) if self._bits else values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[...].astype(dtype or self.dtype, copy=False)

    @property
    def flat(self) -> InOrder:
        return InOrder(self)

    @contextmanager
    def _telling(self, what: str, part: Any) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # Zarr, its codecs and its stores raise errors of all kinds
            cuts = part if isinstance(part, tuple) else (part,)
            where = ", ".join(f"{s.start}:{s.stop}" if isinstance(s, slice) else str(s) for s in cuts)
            chunk = "" if what == "written" else f"{_damaged(self, part)}; copy the store again, or make it anew"
            raise BadFile(f"{self.name}[{where}] can't be {what}: {error or type(error).__name__}{chunk}") from error

    def look(self, if_meant: str, *, fill_missing: bool = False) -> None:
        """``BadFile`` if it is not complete; ``if_meant`` is what to do if chunks are left out on purpose."""
        if self.array.attrs.get(UNFINISHED):
            raise BadFile(f"{self.name} is a result that was left unfinished; make it anew")
        if fill_missing and self.array.fill_value is not None:
            return
        missing = [key for key in map(self.array.metadata.encode_chunk_key, self._grid()) if not self._has(key)]
        if missing:
            fill, number = self.array.fill_value, len(list(self._grid()))
            told = "and has no fill value" if fill is None else f"which Zarr would take for {fill}"
            raise BadFile(
                f"{self.name} lacks {len(missing)} of its {number} chunks, such as {missing[0]}, {told}. "
                "Copy the store again" + ("" if fill is None else f"; or, if they are meant, {if_meant}")
            )

    def lacking(self) -> list[int]:
        """The numbers of those chunks of a store of ours that are not on the disk, or empty there."""
        return [number for number, file in enumerate(map(self._file, self._grid())) if not _holds_something(file)]

    def keep(self, numbers: Sequence[int]) -> None:
        """Have the disk take these chunks of a store of ours, what describes it, and the names of both."""
        sizes = [-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True)]
        files = [self._file(tuple(map(int, np.unravel_index(number, sizes)))) for number in numbers]
        files += [file for name in _DESCRIBE if (file := Path(self.name, name)).exists()]
        for file in files:
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())
        for place in {place for file in files for place in file.parents if place.is_relative_to(self.name)}:
            with suppress(OSError):  # not all systems open directories
                opened_place = os.open(place, os.O_RDONLY)
                try:
                    os.fsync(opened_place)
                finally:
                    os.close(opened_place)

    def _file(self, place: tuple[int, ...]) -> Path:
        return Path(self.name, self.array.metadata.encode_chunk_key(place))

    def _grid(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(-(-n // c)) for n, c in zip(self.shape, self.chunks, strict=True)))

    def _has(self, key: str) -> bool:
        root = getattr(self.array.store, "root", None)
        if isinstance(root, Path):
            return os.path.isfile(root / self.array.path / key)
        from zarr.core.sync import sync

        return bool(sync((self.array.store_path / key).exists()))


class InOrder:
    """The elements of a stored array in C order, for those who go through them: slices of them, and no others.

    What is held is as much as lies side by side in one row of chunks, along the first axis that has longer ones than 1.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        longer = (axis for axis, c in enumerate(stored.chunks) if c > 1)
        self._axis = next(longer, max(len(stored.shape) - 1, 0))
        self._begin, self._held = 0, np.empty(0, stored.dtype)

    def __getitem__(self, part: slice) -> NDArray[Any]:
        place, stop = part.start, min(part.stop, self._stored.size)
        found = [self._held[:0]]
        while place < stop:
            if not 0 <= place - self._begin < self._held.size:
                self._hold(place)
            found.append(self._held[place - self._begin : stop - self._begin])
            place += found[-1].size
        return np.concatenate(found)

    def _hold(self, place: int) -> None:
        stored, axis = self._stored, self._axis
        if not stored.shape:
            self._held = stored[...].reshape(-1)
            return
        first = [int(i) for i in np.unravel_index(place, stored.shape)[: axis + 1]]
        first[axis] -= first[axis] % stored.chunks[axis]
        row = slice(first[axis], min(first[axis] + stored.chunks[axis], stored.shape[axis]))
        outer = (slice(i, i + 1) for i in first[:axis])
        self._held = stored[(*outer, row, *(slice(0, n) for n in stored.shape[axis + 1 :]))].reshape(-1)
        within = [0] * (len(stored.shape) - axis - 1)
        self._begin = int(np.ravel_multi_index((*first, *within), stored.shape))


def _holds_something(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _damaged(stored: Stored, part: Any) -> str:
    """The first chunk of a part that can't be read by itself."""
    for place in stored._grid():
        cut = tuple(slice(i * c, (i + 1) * c) for i, c in zip(place, stored.chunks, strict=True))
        try:
            stored.array[cut]
        except Exception:  # noqa: BLE001 - any
            return f", in chunk {stored.array.metadata.encode_chunk_key(place)}"
    return ""


def is_store(path: str | Path) -> bool:
    """Whether a name is that of a store, or of an array in the groups of one: ``store.zarr/group/array``."""
    path = Path(path)
    inside = any(place.suffix.lower() == SUFFIX for place in path.parents)
    return path.suffix.lower() == SUFFIX or (inside and path.suffix.lower() not in SUFFIXES)


def look_at_place(path: Path) -> None:
    """``BadFile`` if a result must not take the place of what has this name: only a file, or an array's store, may go.

    A store is told by what describes it, without zarr.
    """
    if not path.parent.is_dir():
        raise BadFile(f"{path} can't be written: there is no directory {path.parent}")
    if not os.path.lexists(path):
        return
    if not is_store(path):
        if path.exists() and not path.is_file():
            what = "a directory" if path.is_dir() else "no ordinary file"
            raise BadFile(f"{path} can't be written: it is {what}; choose another name")
        return
    if path.is_symlink():
        what = "a link"
    elif not path.is_dir():
        what = "a file"
    elif _describes_array(path):
        return
    else:
        what = "a directory that is no Zarr array"
    raise BadFile(
        f"{path} can't be written: it is {what}, and only the store of an array is replaced; choose another name"
    )


def _describes_array(path: Path) -> bool:
    if (path / ".zgroup").exists():
        return False
    if (path / ".zarray").is_file():
        return True
    try:
        described = json.loads((path / "zarr.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and described.get("node_type") == "array"


def open_store(path: str | Path, *, dtype: str | None = None, fill_missing: bool = False, read: bool = True) -> Stored:
    """The array of a store. ``BadFile`` if there is none, of another type, or, if it is to be read, not complete."""
    zarr = _zarr()
    if not Path(path).is_dir():
        raise BadFile(f"{path}: there is no such store; expected a directory")
    try:
        array = zarr.open_array(str(path), mode="r")
    except Exception as error:  # what zarr raises for whatever is not as expected
        raise BadFile(f"{path} is {_group_like(path) or f'no Zarr array of version 2 or 3: {error}'}") from error
    wanted = None if dtype is None else numpy_dtype(dtype)
    stored = Stored(array, str(path), wanted is BFLOAT16 and array.dtype.name in ("uint16", "int16"))
    if wanted is not None and stored.dtype != wanted:
        raise BadFile(f"{path} holds {stored.dtype.name}, and not {wanted.name} as told")
    if read:
        stored.look("say so with --fill-missing", fill_missing=fill_missing)
    return stored


def _group_like(path: str | Path) -> str:
    """What to say of a group; nothing of anything else."""
    try:
        members = _zarr().open_group(str(path), mode="r").members(max_depth=None)
        arrays = [f"{path}/{name}" for name, member in members if hasattr(member, "chunks")]
    except Exception:  # noqa: BLE001 - any: it is no group
        return ""
    return f"a Zarr group; give one of its arrays, such as {min(arrays)}" if arrays else "a Zarr group without arrays"


def create_store(
    path: Path, dtype: np.dtype[Any], shape: Sequence[int], chunks: Sequence[int], like: Stored | None
) -> Stored:
    """A new store, or one of the same kind that is there already; of the version and compression of another one."""
    zarr = _zarr()
    if path.is_dir():
        return Stored(zarr.open_array(str(path), mode="r+", config={"write_empty_chunks": True}), str(path))
    options = (
        {} if like is None else {"zarr_format": like.array.metadata.zarr_format, "compressors": like.array.compressors}
    )
    bits = dtype == BFLOAT16
    array = zarr.create_array(
        store=str(path),
        shape=tuple(shape),
        chunks=tuple(max(c, 1) for c in chunks),
        dtype=np.dtype(np.uint16) if bits else dtype,
        fill_value=0,
        attributes={BITS_OF: BFLOAT16.name} if bits else None,
        config={"write_empty_chunks": True},
        **options,
    )
    return Stored(array, str(path))


def _zarr() -> Any:
    try:
        import zarr
    except ModuleNotFoundError as error:
        if error.name != "zarr":
            raise
        raise BadFile(
            'Zarr stores need zarr, which is not installed here. Run: pip install "zarr>=3.0.8" '
            '(or, in a checkout of poolgrad: pip install ".[dask]").'
        ) from None
    return zarr
