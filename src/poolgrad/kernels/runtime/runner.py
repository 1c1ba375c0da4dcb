"""One part of a task: which units, which scratch, and the jump to the kernel's machine code.

Kernels are called by their address, so this is compiled once and serves them all.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from ..jit.machine import atomic_add, nanoseconds
from ..jit.memory import clear_bytes, inlined_piece, piece
from ..jit.modes import MODE_BITS, NORMAL, floating_mode, set_floating_mode
from ..jit.vectors import fence
from ..record import RECORD
from .stopping import asked_to_stop
from .task import DONE, TASK, UNITS_DONE

# A run that may be stopped enters its kernel for longer and longer, up to about so many nanoseconds: where many rows of
# gradients flow into one, entering alone takes some milliseconds. It is entered for so many times as many units more at
# most: with twice as many each time, entering took a tenth of the time of an average over one plane of 8192 x 8192.
LONG_ENOUGH, MOST_MORE = 50_000_000, 63
# Bytes that are cleared between two looks whether to stop.
BYTES_AT_ONCE = 1 << 20

RECORDS = types.Array(from_dtype(RECORD), 1, "C")


def kernel_signature(tensors: int, compute: str) -> Any:
    """The plan's record, the addresses of tensors and of scratch for numbers and integers, a range of units, a zero."""
    return types.int64(RECORDS, *[types.int64] * (tensors + 4), getattr(types, compute))


@intrinsic
def task_at(typing_context: Any, address: types.Type) -> Any:
    """What compiled code is told of a plan."""
    task = from_dtype(TASK)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.inttoptr(args[0], context.get_value_type(task))

    return task(types.int64), generate


@intrinsic
def records_at(typing_context: Any, address: types.Type) -> Any:
    """An array of one record, as kernels take it. Nobody counts references to it."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        array = context.make_array(RECORDS)(context, builder)
        one, size = context.get_constant(types.intp, 1), context.get_constant(types.intp, RECORD.itemsize)
        data = builder.inttoptr(args[0], array.data.type)
        populate_array(array, data=data, shape=[one], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return RECORDS(types.int64), generate


def caller_of(compiled: Any) -> Any:
    """What calls compiled code of a signature by its address."""

    @intrinsic
    def call(typing_context: Any, address: types.Type, arguments: types.Type) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            kind = context.call_conv.get_function_type(compiled.return_type, compiled.args)
            target = builder.inttoptr(args[0], kind.as_pointer())
            given = [builder.extract_value(args[1], i) for i in range(len(compiled.args))]
            _, result = context.call_conv.call_function(builder, target, compiled.return_type, compiled.args, given)
            return result  # nothing here raises, so there is no status to look at

        return compiled.return_type(types.int64, types.Tuple(compiled.args)), generate

    return call


_call_2_f32, _call_2_f64 = caller_of(kernel_signature(2, "float32")), caller_of(kernel_signature(2, "float64"))
_call_3_f32, _call_3_f64 = caller_of(kernel_signature(3, "float32")), caller_of(kernel_signature(3, "float64"))


@inlined_piece
def run_kernel(task_address: int, scratch: int, one: int, two: int, three: int, part: int, begin: int, end: int) -> int:
    task = task_at(task_address)
    records = records_at(task.record)
    integers = scratch + part * task.part_bytes
    floats = integers + task.integer_bytes
    if task.tensors == 2:
        if task.double:
            return _call_2_f64(task.kernel, (records, one, two, floats, integers, begin, end, types.float64(0)))
        return _call_2_f32(task.kernel, (records, one, two, floats, integers, begin, end, types.float32(0)))
    if task.double:
        return _call_3_f64(task.kernel, (records, one, two, three, floats, integers, begin, end, types.float64(0)))
    return _call_3_f32(task.kernel, (records, one, two, three, floats, integers, begin, end, types.float32(0)))


@piece
def run_until_stopped(
    task: int, scratch: int, one: int, two: int, three: int, part: int, begin: int, end: int, control: int
) -> int:
    """The same, some units at a time: in between a run may be stopped."""
    step, bad = task_at(task).grain, DONE
    while begin < end and bad == DONE and not asked_to_stop(control):
        until, began = min(begin + step, end), nanoseconds()
        bad = run_kernel(task, scratch, one, two, three, part, begin, until)
        step += step * min(LONG_ENOUGH // (nanoseconds() - began + 1), MOST_MORE)
        atomic_add(control + UNITS_DONE, until - begin)
        begin = until
    fence()  # a kernel that stops leaves stores past the caches on their way
    return bad


@piece
def run_part(task: int, scratch: int, one: int, two: int, three: int, part: int) -> int:
    """The kernel's answer: the place of the first bad index, or -1."""
    mode = floating_mode()
    changed = mode & MODE_BITS != NORMAL
    if changed:
        set_floating_mode(NORMAL)
    told = task_at(task)
    begin, end = told.units * part // told.parts, told.units * (part + 1) // told.parts
    control = records_at(told.record)[0].control
    if control == 0:
        bad = run_kernel(task, scratch, one, two, three, part, begin, end)
    else:
        bad = run_until_stopped(task, scratch, one, two, three, part, begin, end, control)
    if changed:
        set_floating_mode(mode)
    if told.rest_from < told.rest_to:
        clear_rest(three, told.rest_from, told.rest_to - told.rest_from, part, told.parts, control)
    return bad


@piece
def clear_rest(output: int, first: int, number: int, part: int, parts: int, control: int) -> None:
    """A part's share of the bytes that no kernel writes."""
    begin, end = output + first + number * part // parts, output + first + number * (part + 1) // parts
    while begin < end and (control == 0 or not asked_to_stop(control)):
        here = min(end - begin, BYTES_AT_ONCE)
        clear_bytes(begin, here)
        begin += here


@piece
def run_alone(task: int, scratch: int, one: int, two: int, three: int) -> int:
    """All parts, one after the other."""
    first = types.uint64(-1)
    for part in range(task_at(task).parts):
        first = min(first, types.uint64(run_part(task, scratch, one, two, three, part)))
    return types.int64(first)
