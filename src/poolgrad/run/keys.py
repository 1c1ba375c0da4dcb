"""Keys of calls: two calls with equal keys get the same answer from the contract and the same plan.

Python calls 2, 2.0 and True equal, an array and its read-only twin look alike, and a list can change after it was
looked at. So numbers become bytes, which tell types apart (``marshal`` does that in a tenth of a microsecond), and a
key holds all that a verdict depends on. A call without a key is looked at more closely each time; that is slower, never
wrong.
"""

from __future__ import annotations

import sys
from marshal import dumps
from operator import attrgetter
from typing import Any

from numpy import ndarray

from ..arrays.adapters import write_refusal
from . import threads

Key = tuple[Any, ...]

_PLAIN = frozenset((int, bool, type(None), str))
_INT = frozenset((int,))
# The newest format that writes equal objects alike, whoever else holds them.
_FORMAT = 2
# What a verdict depends on of an array that is read, and of one that is written.
read, written_to = attrgetter("dtype", "shape", "strides"), attrgetter("dtype", "shape", "strides", "flags.writeable")


def written(*values: Any) -> bytes | None:
    """Numbers, names and sequences of numbers as bytes; None if there is something else."""
    try:
        return dumps(values, _FORMAT)
    except ValueError:
        return None


def key_of(count: int | None, name: str, said: bytes, arrays: tuple[Any, ...], out: Any) -> Key | None:
    """The key of a call on NumPy arrays alone, or torch tensors alone; ``out`` may be None.

    ``count`` is the number of threads, if it is not what is set, and ``said`` all other arguments, as bytes. ``arrays``
    may hold the shape of one that is never read.
    """
    if type(arrays[0]) is not ndarray:
        return _key_of_tensors(count, name, said, arrays, out)
    key: list[Any] = [count or threads.count, name, said]
    for array in arrays:
        if type(array) is ndarray:
            key.append(read(array))
        elif type(array) is tuple:
            key.append(written(array))
        else:
            return None
    if type(out) is ndarray:
        key.append(written_to(out))
    elif out is not None:
        if type(out) is not tuple or any(type(result) is not ndarray for result in out):
            return None
        key.append(tuple(map(written_to, out)))  # not what a result alone has
    return tuple(key)


def may_be_kept(arrays: tuple[Any, ...], numbers: tuple[Any, ...]) -> bool:
    """Whether a call may be found by its key: if all its numbers are plain ones.

    NumPy's numbers, for instance, are written as the bytes they are made of, which an integer and a float may share. No
    plain number is written like that, so whoever brings one finds nothing.
    """
    sequences = [thing for thing in (*numbers, *arrays) if isinstance(thing, tuple | list)]
    return _PLAIN.issuperset(type(n) for n in numbers if type(n) not in (tuple, list)) and all(
        _INT.issuperset(map(type, sequence)) for sequence in sequences
    )


def _key_of_tensors(count: int | None, name: str, said: bytes, arrays: tuple[Any, ...], out: Any) -> Key | None:
    torch = sys.modules.get("torch")
    if torch is None or type(arrays[0]) is not torch.Tensor:
        return None
    if torch.autograd.forward_ad._current_level >= 0:  # any tensor may carry a tangent
        return None
    key: list[Any] = [count or threads.count_beside(torch), name, said, type(out) is tuple]
    tensor, sizes = torch.Tensor, (torch.Size, tuple)
    results = () if out is None else out if type(out) is tuple else (out,)
    try:
        for array in arrays:
            if type(array) is tensor:
                key.append(_tensor_key(array))
            elif type(array) in sizes:
                key.append(written(*array))
            else:
                return None
        for result in results:
            if type(result) is not tensor:
                return None
            key += _tensor_key(result), write_refusal(torch, result)
    except RuntimeError:  # what torch raises for tensors of its own special kinds
        return None
    return tuple(key)


def _tensor_key(tensor: Any) -> Key:
    return (
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.requires_grad,
        tensor.is_cpu,
        tensor.layout,
        tensor.is_neg(),  # conjugates are of complex types, which no operator takes
        # Whether there is memory behind the shape.
        tensor.storage_offset(),
        tensor.untyped_storage().nbytes(),
        tensor.data_ptr() == 0,
    )
