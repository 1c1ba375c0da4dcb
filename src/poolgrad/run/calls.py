"""A call of the Pythonic layer: arrays are described, the contract judges, a plan is made, and it runs.

All that a verdict depends on is in the call's key (keys.py). A call that was judged before is found by it and goes
straight to compiled code. Whatever a key can't vouch for goes the whole way, so every error has one source.
"""

from __future__ import annotations

import dataclasses
import operator as python_operators
import reprlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy import ndarray

from ..arrays import adapters
from ..base.errors import AclnnError
from ..base.products import ANY, Product, find_product
from ..base.status import ACLNN_ERR_PARAM_INVALID
from ..base.tensor import Tensor, contiguous_strides, retyped
from ..contract.checks import MOST_SHOWN, number_text
from ..contract.engine import Call, Value, enforce
from ..contract.operator import Operator
from ..contract.overlap import MEMORY_CHECKS
from ..contract.parameters import Parameter, Role
from ..kernels.runtime import layout
from ..kernels.runtime.task import ADDRESSES, APART, ARRAYS, DONE, MAY_OVERLAP
from . import elsewhere, small_calls, threads
from .execute import Task, arrange, index_error
from .keys import key_of, may_be_kept, written
from .prepared import PREPARED, Prepared, prepared_call
from .small_calls import SMALL_CALLS

Ints = SupportsIndex | Sequence[SupportsIndex]
Options = tuple[str | None, str | None, str | None]  # product, data_format, index_dtype
# Enough for any mistake that deserves the contract's answer about lengths.
MOST_VALUES = 1000
_LONGEST_TEXT = 80  # of what is no number


class _Known:
    """A call that was judged before: its task if there is anything to do, and what makes its results."""

    __slots__ = ("look_at", "make_results", "order", "runs", "task")

    def __init__(self, prepared: Prepared, make_results: tuple[Callable[[], Any], ...]) -> None:
        self.task, self.make_results = prepared.task, make_results
        self.runs, self.look_at = 0, small_calls.OFTEN  # after so many it is looked at whether it is a small one
        order = [p.name for p in prepared.plan.call.operator.tensors]
        # Where the task's tensors stand among all arrays; the last one twice if there are two.
        self.order = tuple(order.index(name) for name in (*prepared.plan.tensors, prepared.plan.tensors[-1])[:3])


# By their keys. What is refused is never kept.
_KNOWN: dict[Any, _Known] = {}
MOST_KNOWN = 1024
# Whether compiled code finds the address of an array by itself.
_READS_ARRAYS = layout.is_as_expected()


def forget_calls() -> None:
    """Forget what was judged, here and behind all doors: for tests that change what verdicts depend on."""
    _KNOWN.clear()
    SMALL_CALLS.clear()
    PREPARED.clear()


def one_or_all(results: tuple[Any, ...]) -> Any:
    """What a function takes as ``out`` and returns: an array, or a tuple of several."""
    return results[0] if len(results) == 1 else results


def call(
    operator: Operator,
    arrays: tuple[Any, ...],
    numbers: tuple[Any, ...],
    product: str | None,
    out: Any,
    data_format: str | None = None,
    index_dtype: Any = None,
    count: int | None = None,
) -> Any:
    """The result of an operator on arrays and numbers, both in the order of its parameters.

    ``index_dtype`` is the type of the places that a forward pass finds, if nobody gave arrays for them; ``count`` the
    number of threads, if it is not what is set.
    """
    if index_dtype is not None:
        index_dtype = adapters.name_of_dtype(index_dtype)
    if type(out) is list and len(operator.outputs) > 1:
        out = tuple(out)
    first, *others = arrays
    shape = others[0] if others else None  # of a gradient's x the shape may be all that is given
    if type(shape) is not tuple:
        shape = tuple(shape) if isinstance(shape, tuple | list) else None  # torch.Size, too
        arrays = arrays if shape is None else (first, shape, *others[1:])
    said = written(numbers, product, data_format, index_dtype, shape)
    if type(first) is ndarray:
        small = SMALL_CALLS.get((count or threads.count, operator.name, said, first.shape))
        if small is not None:
            result = out if out is not None else _made(small.make_results)
            everything = (*arrays, result) if type(result) is not tuple else arrays + result
            fits = type(result) is small.kind and len(everything) == small.number
            if fits and small.run(*map(id, everything), *small.missing) == DONE:
                return result
    key = None if said is None else key_of(count, operator.name, said, arrays, out)
    known = _KNOWN.get(key)
    if known is not None:
        result = out if out is not None else _made(known.make_results)
        everything = (*arrays, result) if type(result) is not tuple else arrays + result
        if known.task is None or _run_known(known, known.task, key, everything, out) == DONE:
            return result
    return _call(operator, arrays, numbers, (product, data_format, index_dtype), out, key, count)


def _note_writes(out: Any) -> None:
    for array in out if type(out) is tuple else (out,):
        adapters.note_write(array)


def _made(make_results: tuple[Callable[[], Any], ...]) -> Any:
    """New results, as a function returns them."""
    return one_or_all(tuple([make() for make in make_results]))


def _run_known(known: _Known, task: Task, key: Any, arrays: tuple[Any, ...], out: Any) -> int:
    """Run on all arrays, of which ``out`` was given by the caller."""
    one, two, three = [arrays[place] for place in known.order]
    if type(one) is not ndarray:
        if not type(one) is type(two) is type(three):  # torch in one of its modes makes tensors without memory
            return MAY_OVERLAP
        if out is not None:
            _note_writes(out)
        return task.run(ADDRESSES, one.data_ptr(), two.data_ptr(), three.data_ptr())
    if not _READS_ARRAYS:
        return task.run(ADDRESSES, one.ctypes.data, two.ctypes.data, three.ctypes.data)
    answer = task.run(ARRAYS, id(one), id(two), id(three))
    known.runs += 1
    if known.runs >= known.look_at and answer == DONE:
        known.look_at *= 4
        small_calls.keep_if_small(key, task, arrays, known.order, known.make_results)
    return answer


def _call(
    operator: Operator,
    arrays: tuple[Any, ...],
    numbers: tuple[Any, ...],
    options: Options,
    out: Any,
    key: Any,
    count: int | None,
) -> Any:
    """The whole way, unless the arrays are somebody else's to compute on."""
    taker = elsewhere.taker_of((*arrays, *(out if isinstance(out, tuple) else (out,))))
    if taker is not None:
        return taker(operator, arrays, numbers, options, out)
    if count is None:
        count = threads.count_beside(sys.modules["torch"]) if adapters.is_torch(arrays[0]) else threads.count
    judged, found = described(operator, arrays, numbers, options, out)
    prepared = prepared_call(operator, judged.product, judged.values, count, judged.hint)
    plan = prepared.plan
    owner = found[operator.inputs[0].name].owner
    make_results = tuple(adapters.maker_of(owner, plan.call.tensor(p)) for p in operator.outputs)
    # The key is made again: somebody may have changed an array between the first one and the description.
    same = key is not None and key == key_of(count, operator.name, key[2], arrays, out)
    if same and may_be_kept(arrays, numbers + options):
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _Known(prepared, make_results)
    if out is None:
        out = _made(make_results)
        for p, made in zip(operator.outputs, outputs_of(operator, out), strict=True):
            found[p.name] = adapters.describe(made, p.python_name, operator.default_format)
    elif prepared.task is not None:
        _note_writes(out)
    if prepared.task is not None:
        _run(prepared.task, {name: found[name].address for name in plan.tensors})
    return out


def described(
    operator: Operator,
    arrays: tuple[Any, ...],
    numbers: tuple[Any, ...],
    options: Options,
    out: Any,
    describe: Callable[..., adapters.Array] = adapters.describe,
) -> tuple[Call, dict[str, adapters.Array]]:
    """A call as the contract sees it, which has not judged it yet, and its arrays by documented names."""
    product, data_format, index_dtype = options
    if data_format is not None and (not isinstance(data_format, str) or not data_format):
        raise TypeError(f"data_format must be a string such as 'NCHW' or 'NHWC', got {_seen(data_format)}.")
    format = data_format or operator.default_format
    values = described_numbers(operator, numbers)
    wanted = ANY if product is None else find_product(product)
    given = dict(zip(operator.tensors, arrays + outputs_of(operator, out), strict=True))
    found = {
        p.name: describe(value, p.python_name, format, output=p.output)
        for p, value in given.items()
        if value is not None and not _is_shape(p, value)
    }
    if not data_format:
        found = {name: _in_usual_format(operator, array) for name, array in found.items()}
    if index_dtype is not None and out is not None:
        _refuse_contradiction(operator, found, index_dtype, product)
    values |= {p.name: found[p.name].tensor if p.name in found else None for p in operator.tensors}
    leader = values[operator.inputs[0].name]  # whose type shapes and results have that nobody describes
    if isinstance(leader, Tensor):
        for p in operator.inputs:
            if _is_shape(p, given[p]):
                values[p.name] = of_shape(given[p], p, leader)
        _describe_results(operator, wanted, values, index_dtype)
    hints = (hint_of_shape(p, found[p.name].tensor) for p in operator.inputs if p.name in found and not p.read)
    return Call(operator, wanted, values, hint=" ".join(filter(None, hints))), found


def hint_of_shape(parameter: Parameter, array: Tensor) -> str:
    """What to say of an array of one axis, which is never pooled: its numbers may have been meant as a shape."""
    if array.rank != 1:
        return ""
    name = parameter.python_name
    return f"{name} was taken as an array of shape {array.shape}; give a shape as tuple({name})."


def _refuse_contradiction(
    operator: Operator, found: Mapping[str, adapters.Array], index_dtype: str, product: str | None
) -> None:
    """The type of places may be said twice, and then must be the same."""
    for p in operator.outputs:
        if p.role is Role.PLACES and found[p.name].tensor.dtype.name != index_dtype:
            raise AclnnError(
                f"{operator.name}: {p.name} in out: expected index_dtype, {index_dtype}; "
                f"got {found[p.name].tensor.dtype.name}. Leave index_dtype out, or give both the same type.",
                status=ACLNN_ERR_PARAM_INVALID,
                operator=operator.name,
                parameter=p.name,
                product=product,
            )


def _in_usual_format(operator: Operator, array: adapters.Array) -> adapters.Array:
    format = operator.usual_format(array.tensor.rank)
    if format == array.tensor.format:
        return array
    return array._replace(tensor=dataclasses.replace(array.tensor, format=format))


def outputs_of(operator: Operator, out: Any) -> tuple[Any, ...]:
    """The arrays to write to, one for each output; None for those that have to be made. A list is a tuple by now."""
    outputs = operator.outputs
    if len(outputs) == 1:
        return (out,)
    if out is None:
        return (None,) * len(outputs)
    if not isinstance(out, tuple) or len(out) != len(outputs) or any(array is None for array in out):
        names = ", ".join(p.name for p in outputs)
        got = f"({', '.join(type(one).__name__ for one in out)})" if isinstance(out, tuple) else type(out).__name__
        raise TypeError(f"out must be a tuple of {len(outputs)} arrays, for {names}, got {got}.")
    return out


def _is_shape(parameter: Parameter, value: Any) -> bool:
    """Of what is never read a shape is enough."""
    return not parameter.read and not parameter.output and isinstance(value, tuple | list)


def of_shape(sizes: Any, parameter: Parameter, like: Tensor) -> Tensor:
    """A contiguous tensor of that shape, else like another one."""
    name = parameter.python_name
    try:
        shape = tuple(_int(size, f"each size of {name}") for size in sizes)
    except TypeError as error:
        raise TypeError(f"{error} Tuples and lists are shapes; give an array as numpy.asarray({name}).") from None
    return Tensor(like.dtype, shape, contiguous_strides(shape, like.dtype.itemsize), like.format)


def _describe_results(operator: Operator, product: Product, values: dict[str, Value], index: str | None) -> None:
    """Results that nobody gave are as the operator says, if the rest is there to tell."""
    if all(values[p.name] is not None for p in operator.inputs):
        results = operator.results(Call(operator, product, values))
        for p, tensor in zip(operator.outputs, results, strict=True):
            if values[p.name] is None:
                values[p.name] = retyped(tensor, index) if index and p.role is Role.PLACES else tensor


def _run(task: Task, addresses: Mapping[str, int]) -> None:
    """Run on memory of which nothing is known but its addresses."""
    tensors = arrange(task.plan, addresses)
    answer = task.run(ADDRESSES, *tensors)
    if answer == MAY_OVERLAP:  # by a look at the outer bounds; the contract has the exact rows
        enforce(dataclasses.replace(task.plan.call, addresses=addresses), MEMORY_CHECKS)
        answer = task.run(APART, *tensors)
    if answer != DONE:
        raise index_error(task.plan, tensors, answer)


def described_numbers(operator: Operator, numbers: tuple[Any, ...]) -> dict[str, Value]:
    """Arguments that are no arrays, by documented names."""
    given = zip(operator.numbers, numbers, strict=True)
    return {p.name: _number(p, value, len(operator.axes)) for p, value in given}


def _number(parameter: Parameter, value: Any, axes: int) -> Value:
    """An argument as the contract sees it."""
    if value is None and parameter.optional:
        default: Value = parameter.default
        return default
    if parameter.kind == "ints":
        ints = _ints(value, parameter.python_name)
        # One size stands for all axes here; the contract wants each.
        return ints * axes if ints and parameter.role is Role.OUTPUT_SIZE and _is_one(value) else ints
    if parameter.kind == "bool":
        return _flag(value, parameter.python_name)
    return _int(value, parameter.python_name)


def _int(value: Any, name: str) -> int:
    try:
        return python_operators.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {_seen(value)}.") from None


def _is_one(value: Any) -> bool:
    """Whether it is an integer, and no sequence."""
    return hasattr(value, "__index__") and not getattr(value, "ndim", 0)


def _ints(value: Any, name: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if _is_one(value):
        return (_int(value, name),)
    strange = isinstance(value, str | bytes | dict) or not hasattr(value, "__len__")
    if strange or not hasattr(value, "__getitem__") or len(value) > MOST_VALUES:
        raise TypeError(
            f"{name} must be an integer or a sequence of integers, at most {MOST_VALUES}, got {_seen(value)}."
        )
    return tuple(_int(value[i], name) for i in range(len(value)))


def _flag(value: Any, name: str) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {_seen(value)}.")


class _Short(reprlib.Repr):
    """Texts of a length that a message can have, of values of any kind."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxtuple, self.maxlist = 2, MOST_SHOWN, MOST_SHOWN
        self.maxstring = self.maxother = _LONGEST_TEXT

    def repr_int(self, x: int, level: int) -> str:
        return number_text(x)


_SHORT = _Short()


def _seen(value: Any) -> str:
    """What came, for a message: of a long sequence the first few, and how many there are."""
    text = _SHORT.repr(value)
    is_cut = type(value) in (tuple, list) and len(value) > MOST_SHOWN
    return f"{text[:-1]} {len(value)} values{text[-1]}" if is_cut else text
