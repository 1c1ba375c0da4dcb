"""Arrays in files: ``.npy``, and raw ``.bin`` whose dtype and shape are told. Memory-mapped, whole or not there at all.

bfloat16 stands in an ``.npy`` header as ``'<V2'``, which is what NumPy writes for it, and comes back as bfloat16.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import threading
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from ..base.dtypes import SHORT_NAMES
from ..contract.checks import listed

SUFFIXES = (".npy", ".bin")
BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
MOST_AXES = 64

# The types that a tensor's file may have.
_NAMES = (
    *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8"),
    *("uint64", "uint32", "uint16", "uint8", "bool", "complex64", "complex128"),
)
# NumPy has Python parse a header, which Python 3.11 does not always survive in several threads at once.
_HEADERS = threading.Lock()
_KNOWN: dict[str, np.dtype[Any]] = {name: BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in _NAMES}


class BadFile(ValueError):
    """A file that can't be read or written, in one line: which file, what was expected, what is there."""


class _Contents(NamedTuple):
    """What a file holds, and where its first element is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def numpy_dtype(name: DTypeLike) -> np.dtype[Any]:
    """The NumPy type of a name such as ``float16``, ``bfloat16`` or ``bf16``; ``ValueError`` for one that no file has.

    >>> numpy_dtype("bf16"), numpy_dtype("float32")
    (dtype(bfloat16), dtype('float32'))
    """
    if isinstance(name, str):
        found = _KNOWN.get(SHORT_NAMES.get(name.casefold(), name.casefold()))
    else:
        dtype = np.dtype(name)
        found = _KNOWN.get(dtype.name) if dtype.isnative else None
    if found is None:
        raise ValueError(f"dtype {name} is none that a tensor's file may have; use {listed(_NAMES)}")
    return found


def read_array(
    path: str | os.PathLike[str], *, dtype: DTypeLike | None = None, shape: Sequence[int] | None = None
) -> NDArray[Any]:
    """The array of a file, mapped into memory and read-only. ``BadFile`` if there is none, or not as told.

    A ``.bin`` needs ``dtype`` and ``shape``. An ``.npy`` has its own, which must agree with them where they are given;
    only 16-bit integers may be told to be bfloat16, of which they are the bits.
    """
    path = Path(path)
    suffix = _suffix(path)
    wanted = None if dtype is None else _wanted_dtype(path, dtype)
    sizes = None if shape is None else _possible(path, shape)
    with _reading(path) as file:
        there = os.fstat(file.fileno()).st_size
        if suffix == ".bin":
            contents = _bin_contents(path, wanted, sizes)
        else:
            contents = _agreed(path, _npy_contents(path, file), wanted, sizes)
        if there - contents.offset != contents.nbytes:
            raise BadFile(_wrong_size(path, suffix, contents, there))
        if contents.nbytes == 0:  # which no system maps
            array = np.empty(contents.shape, contents.dtype)
            array.flags.writeable = False
            return array
        order: Literal["C", "F"] = "F" if contents.fortran else "C"
        mapped = np.memmap(file, contents.dtype, "r", contents.offset, contents.shape, order)
    return np.asarray(mapped)  # an ordinary array over the map


@contextmanager
def create_array(path: str | os.PathLike[str], dtype: DTypeLike, shape: Sequence[int]) -> Iterator[NDArray[Any]]:
    """A new file as a writable array, mapped into memory; all its elements are 0 at first.

    The file appears under its name when the block ends without an exception; otherwise there is none, and what was
    there before stays. The disk's space is taken at once, so that writing to the array can't run out of it.
    """
    path = Path(path)
    suffix = _suffix(path)
    contents = _Contents(_wanted_dtype(path, dtype), _possible(path, shape), False, 0)
    with whole_file(path, contents.nbytes) as temporary:
        yield _new_map(temporary, suffix, contents)


def map_unfinished(path: Path, suffix: str, dtype: DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
    """The array of a file that gets its name when it is complete: a new one, or what an earlier run has left of it."""
    contents = _Contents(_wanted_dtype(path, dtype), _possible(path, shape), False, 0)
    if not path.exists():
        _look_at_place(path, contents.nbytes)
        return _new_map(path, suffix, contents)
    with open(path, "rb+") as file:
        offset = _npy_contents(path, file).offset if suffix == ".npy" else 0
        if (there := os.fstat(file.fileno()).st_size) != offset + contents.nbytes:  # NumPy would fill it up with zeros
            contents = contents._replace(offset=offset)
            raise BadFile(f"{_wrong_size(path, suffix, contents, there)}; remove it, and all is computed anew")
        return np.memmap(file, contents.dtype, "r+", offset, contents.shape)


@contextmanager
def whole_file(path: str | os.PathLike[str], nbytes: int = 0) -> Iterator[Path]:
    """A name beside ``path`` for a new file of about so many bytes, which gets its own name when the block ends.

    If the block raises anything, the new file is gone, and what was there before stays. ``BadFile`` without a place.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
    try:
        _look_at_place(path, nbytes)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise BadFile(f"{path} can't be written: {_reason(error, nbytes)}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _new_map(temporary: Path, suffix: str, contents: _Contents) -> NDArray[Any]:
    with open(temporary, "xb+") as file:
        if suffix == ".npy":
            header = {"descr": contents.dtype.str, "fortran_order": False, "shape": contents.shape}
            npy.write_array_header_1_0(file, header)
            file.flush()
        if contents.nbytes == 0:
            return np.empty(contents.shape, contents.dtype)
        offset = file.tell()
        _take_space(file, offset, contents.nbytes)
        return np.asarray(np.memmap(file, contents.dtype, "r+", offset, contents.shape))


def _take_space(file: IO[bytes], offset: int, nbytes: int) -> None:
    """A page of a map that finds no space on the disk would kill the process, so all pages get theirs now."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), offset, nbytes)
    else:
        file.truncate(offset + nbytes)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise BadFile(f"{path}: expected a name that ends in {listed(SUFFIXES)}")
    return suffix


def _wanted_dtype(path: Path, dtype: DTypeLike) -> np.dtype[Any]:
    try:
        return numpy_dtype(dtype)
    except (ValueError, TypeError) as error:
        raise BadFile(f"{path}: {error}") from error


def _look_at_place(path: Path, nbytes: int) -> None:
    if path.is_dir():
        raise BadFile(f"{path} can't be written: it is a directory")
    if not path.parent.is_dir():
        raise BadFile(f"{path} can't be written: there is no directory {path.parent}")
    free = shutil.disk_usage(path.parent).free
    if nbytes > free:
        raise BadFile(f"{path} can't be written: it takes {in_bytes(nbytes)}, and the disk has {in_bytes(free)} left")


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    try:
        if not path.exists():
            raise BadFile(f"{path}: there is no such file")
        if not path.is_file():  # a pipe, say, whose opening would wait for ever
            raise BadFile(f"{path} is not a file")
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise BadFile(f"{path} can't be read: {_reason(error, 0)}") from error


def _bin_contents(path: Path, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None) -> _Contents:
    if dtype is None or shape is None:
        missing = " and ".join(name for name, value in (("dtype", dtype), ("shape", shape)) if value is None)
        raise BadFile(f"{path}: a .bin file does not say what it holds; give its {missing}")
    return _Contents(dtype, shape, False, 0)


def _npy_contents(path: Path, file: IO[bytes]) -> _Contents:
    start = file.read(npy.MAGIC_LEN)
    if len(start) < npy.MAGIC_LEN or not start.startswith(npy.MAGIC_PREFIX):
        raise BadFile(f"{path} is no .npy file: {_what_begins_with(start)}")
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get((start[6], start[7]))
    if read_header is None:
        raise BadFile(f"{path} is no .npy file of version 1 or 2, which arrays of numbers have")
    try:
        with _HEADERS:
            shape, fortran, dtype = read_header(file)
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError, RecursionError) as error:
        raise BadFile(f"{path} is no .npy file: its header is damaged or cut off") from error
    return _Contents(_stored_dtype(path, dtype), _possible(path, shape), fortran, file.tell())


def _possible(path: Path, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape, if an array may have it; NumPy's own limits, so that it never gets to complain."""
    sizes = tuple(int(size) for size in shape)
    if len(sizes) > MOST_AXES:
        raise BadFile(f"{path}: a shape of {len(sizes)} axes; an array has at most {MOST_AXES}")
    if any(not 0 <= size < 2**63 for size in sizes) or math.prod(size for size in sizes if size) >= 2**59:
        raise BadFile(f"{path}: no array has the shape {sizes}")
    return sizes


def _what_begins_with(start: bytes) -> str:
    if not start:
        return "it is empty"
    if start.startswith(npy.MAGIC_PREFIX) or npy.MAGIC_PREFIX.startswith(start):
        return "it is cut off"
    if start.startswith(b"PK"):
        return "it is an archive; save each array with numpy.save instead of numpy.savez"
    if start.startswith(b"\x80"):
        return "it looks like a pickle, which may run any code and is never opened; save the array with numpy.save"
    return "it does not begin like one"


def _stored_dtype(path: Path, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.hasobject:
        raise BadFile(f"{path} holds pickled Python objects, which may run any code and are never opened; save numbers")
    if dtype == np.dtype("V2"):
        return BFLOAT16
    if not dtype.isnative:
        raise BadFile(f"{path} holds {dtype.name} in the other byte order; save array.astype('{dtype.name}')")
    if dtype.name not in _KNOWN:
        raise BadFile(f"{path} holds dtype {dtype}; expected {listed(_NAMES)}")
    return _KNOWN[dtype.name]


def _agreed(path: Path, there: _Contents, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None) -> _Contents:
    if dtype is BFLOAT16 and there.dtype.name in ("uint16", "int16"):
        there = there._replace(dtype=BFLOAT16)
    if dtype is not None and dtype != there.dtype:
        raise BadFile(f"{path} holds {there.dtype.name}, and not {dtype.name} as told")
    if shape is not None and shape != there.shape:
        raise BadFile(f"{path} holds shape {there.shape}, and not {shape} as told")
    return there


def _wrong_size(path: Path, suffix: str, contents: _Contents, there: int) -> str:
    held = there - contents.offset
    if suffix == ".npy":
        word = "is cut off" if held < contents.nbytes else "has something behind its array"
    else:
        word = "is of another size"
    kind = f"{contents.dtype.name} of shape {contents.shape}"
    return f"{path} {word}: {kind} takes {in_bytes(contents.nbytes)}, and it has {in_bytes(held)}"


def _reason(error: OSError, nbytes: int) -> str:
    if nbytes and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"it takes {in_bytes(nbytes)}, and there is no space for it"
    return error.strerror or str(error)


def in_bytes(count: int) -> str:
    """A number of bytes for people.

    >>> in_bytes(1000), in_bytes(3 * 2**30)
    ('1000 bytes', '3.0 GiB')
    """
    if count >= 1 << 80:
        return "more than any disk has"
    for power, unit in ((60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f} {unit}"
    return f"{count} bytes"
