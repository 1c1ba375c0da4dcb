"""One case on its way to files: inputs, golden result, and last the record that says that all of it is there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..arrays.files import BadFile, create_array, numpy_dtype, whole_file
from ..base.errors import IndexRangeError
from ..base.status import ACLNN_SUCCESS
from .data import Array, Piece, golden_piece, golden_whole, make_piece, pieces, scratch_bytes
from .lines import as_record, digest
from .model import Case
from .naming import directory_name

RECORD = "case.json"
GOLDEN = "golden"
HEADER, PAGE = 128, 4096  # bytes before an array, and what disks are given out by
HASHED_AT_ONCE = 1 << 20


def file_of(case: Case, parameter: str) -> str:
    """The name of a tensor's file: the parameter's, ``golden`` for the result, ``golden_...`` for further ones."""
    outputs = [p.name for p in case.operator.outputs]
    if parameter not in outputs:
        return f"{parameter}.npy"
    return f"{GOLDEN}.npy" if parameter == outputs[0] else f"{GOLDEN}_{parameter}.npy"


def bytes_of(case: Case) -> int:
    """What a case takes on the disk."""
    tensors = [case.tensor(name) for name in case.tensors]
    sizes = [numpy_dtype(tensor.dtype).itemsize * tensor.count + HEADER for tensor in tensors]
    return scratch_bytes(case) + sum(-(-size // PAGE) * PAGE for size in (*sizes, PAGE))


def finished(case: Case, directory: Path) -> dict[str, Any] | None:
    """The record of a case that was made before from the same description, if all its files are there."""
    try:
        record = json.loads((directory / RECORD).read_text())
        same = record["digest"] == digest(case) and record["poolgrad"] == __version__
        there = all((directory / f["file"]).stat().st_size == f["bytes"] for f in record["tensors"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if same and there else None


class Work:
    """A case's files while they are made: opened, filled piece by piece by any thread, and then closed or dropped."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case = case
        self.directory = root / directory_name(case.name)
        self.pieces = list(pieces(case))
        self.left = len(self.pieces)
        self._inputs, self._output = contextlib.ExitStack(), contextlib.ExitStack()
        self._arrays: dict[str, Array] = {}
        self._bad_index = threading.Event()

    def open(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            (self.directory / RECORD).unlink(missing_ok=True)  # what was there is no longer whole
            for rest in self.directory.glob(".*.part*"):  # of a process that was killed
                rest.unlink(missing_ok=True)
        except OSError as error:
            raise BadFile(f"{self.directory} can't be written: {error.strerror or error}") from error
        for parameter in self.case.operator.tensors:
            tensor = self.case.tensor(parameter.name)
            stack = self._output if parameter.output else self._inputs
            path = self.directory / file_of(self.case, parameter.name)
            array = stack.enter_context(create_array(path, tensor.dtype, tensor.shape))
            self._arrays[parameter.name] = array

    def run(self, piece: Piece, pause: Callable[[], None]) -> None:
        """Make the inputs and the result of a piece."""
        make_piece(self.case, self._arrays, piece, self.directory, pause)
        if not self._bad_index.is_set():
            try:
                golden_piece(self.case, self._arrays, piece, self.directory)
            except IndexRangeError:
                self._bad_index.set()

    def close(self, pause: Callable[[], None]) -> dict[str, Any]:
        """Give the files their names, and write the record. A bad index leaves inputs only, and its status."""
        error = None
        if self._bad_index.is_set():
            try:
                golden_whole(self.case, self._arrays)  # which names the place
            except IndexRangeError as found:
                error = found
                _drop(self._output)
                for name in self.case.outputs:
                    (self.directory / file_of(self.case, name)).unlink(missing_ok=True)
        self._arrays.clear()
        self._inputs.close()
        self._output.close()
        status, message = (ACLNN_SUCCESS, None) if error is None else (error.status, str(error))
        names = [name for name in self.case.tensors if error is None or name not in self.case.outputs]
        record = entry(self.case, status, message) | {"poolgrad": __version__}
        record["tensors"] = {name: self._file(name, pause) for name in names}
        write_text(self.directory / RECORD, json.dumps(record, ensure_ascii=False) + "\n")
        return record

    def drop(self) -> None:
        """Leave nothing of what is not finished."""
        self._arrays.clear()
        _drop(self._output)
        _drop(self._inputs)
        if (self.directory / RECORD).exists():
            return  # it is finished, only nobody has taken note of it
        with contextlib.suppress(OSError):
            for name in self.case.tensors:  # they may have got their names already
                (self.directory / file_of(self.case, name)).unlink(missing_ok=True)
            self.directory.rmdir()  # if nothing is in it

    def _file(self, name: str, pause: Callable[[], None]) -> dict[str, Any]:
        tensor, file = self.case.tensor(name), file_of(self.case, name)
        with open(self.directory / file, "rb") as opened:
            sha256 = hashlib.sha256()
            while block := opened.read(HASHED_AT_ONCE):
                pause()
                sha256.update(block)
            size = os.fstat(opened.fileno()).st_size
        return {"file": file, "dtype": tensor.dtype, "shape": tensor.shape, "bytes": size, "sha256": sha256.hexdigest()}


def entry(case: Case, status: int, message: str | None) -> dict[str, Any]:
    """What the manifest says of any case."""
    return {
        "name": case.name,
        "directory": directory_name(case.name),
        "status": status,
        "expected_status": case.expected,
        "message": message,
        "seed": case.seed,
        "digest": digest(case),
        "case": as_record(case),
    }


class _Dropped(Exception):
    pass


def _drop(stack: contextlib.ExitStack) -> None:
    """Leave the blocks as if something had failed in them, so that their files never appear."""
    with contextlib.suppress(_Dropped):
        stack.__exit__(_Dropped, _Dropped(), None)


def write_text(path: Path, text: str) -> None:
    """A whole file, or the one that was there."""
    with whole_file(path, len(text)) as temporary:
        temporary.write_text(text, encoding="utf-8")
