"""The plans of max pooling with a mask, and of its gradient.

A mask of places that is one run of memory is nothing but indices of 32 bits: the plan is that of the operators that
have them. Masks of bits, and places in any other view of bytes, have kernels of their own, which give the same results.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from ..base.dtypes import INT32
from ..base.tensor import Planes, Tensor, as_planes, contiguous_strides, is_contiguous
from ..contract.engine import Call
from ..contract.masks import holds_bits, mask_shape, positions
from ..contract.operator import Operator
from ..contract.parameters import Role
from ..contract.pooling import layout_of, pooled_shape
from ..kernels.record import GROUP, RECORD, ROOM
from .average import ROUNDINGS
from .forward import plan_maximum as plan_found_maxima
from .limits import Limits, machine_limits
from .maximum import plan_maximum as plan_given_maxima
from .plan import CODES, Plan, compute_dtype, parts_for, time_of_traffic
from .ways import Record


def plan_maxima_and_mask(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Maxima of windows, and the mask that says where they stand."""
    mask, limits = call.tensor(Role.MASK), limits or machine_limits()
    if not holds_bits(call):
        plan = plan_found_maxima(_with_indices(call, Role.PLACES), threads, limits, way)
        return replace(
            plan, call=call, rest=(4 * call.tensor(Role.RESULT).count, mask.count) if plan.kernel else (0, 0)
        )
    x, out = call.tensor(Role.INPUT), call.tensor(Role.RESULT)
    record, (source, target) = _record(call, (x, out))
    record["grad_steps"], record["result_steps"] = source.steps, target.steps
    groups, tile = source.shape[0] * -(-source.shape[1] // GROUP), min(target.shape[4], limits.tile)
    units = groups * target.shape[3] if out.count else 0
    record["tile"] = tile
    names = tuple(call.operator.by_role[role].name for role in (Role.INPUT, Role.RESULT, Role.MASK))
    return Plan(
        call=call,
        kernel="pool_max_bits" if units else "",
        compute=compute_dtype(out.dtype),
        record=record,
        tensors=names,
        units=units,
        parts=parts_for(threads, units, limits, time_of_traffic(x, out, mask)),
        floats=2 * tile + ROOM,
        integers=tile,
        rest=(groups * positions(call) * mask.shape[-1], mask.count),
    )


def plan_from_mask(call: Call, threads: int, limits: Limits | None = None, way: str = "") -> Plan:
    """Every gradient is added where the mask says that the maximum stood."""
    grad, mask, out = (call.tensor(role) for role in (Role.GRADIENT, Role.MASK, Role.RESULT))
    limits = limits or machine_limits()
    if not holds_bits(call) and is_contiguous(mask):
        return replace(plan_given_maxima(_with_indices(call, Role.INDICES), threads, limits, way), call=call)
    record, (source, target) = _record(call, (grad, out))
    record["grad_steps"], record["result_steps"] = source.steps, target.steps
    # An axis of one element may have any stride, also one that no kernel could hold.
    steps = [0 if size == 1 else step for size, step in zip(mask.shape, mask.strides, strict=True)]
    image, channel, row, byte = [0] * (4 - mask.rank) + steps
    record["index_steps"] = (image, channel, 0, row, byte)
    compute, number = compute_dtype(out.dtype), math.prod(source.spatial)
    record["direct"] = out.dtype.name == compute and call.operator.rounding(call) == "kept"
    chunk, planes = max(min(number, limits.windows_at_once), 1), target.shape[0] * target.shape[1]
    record["chunk"] = chunk
    units = planes if out.count else 0
    return Plan(
        call=call,
        kernel="scatter_mask" if units else "",
        compute=compute,
        record=record,
        tensors=tuple(call.operator.by_role[role].name for role in (Role.GRADIENT, Role.MASK, Role.RESULT)),
        units=units,
        parts=parts_for(threads, units, limits, time_of_traffic(grad, mask, out)),
        floats=chunk + ROOM + (0 if record["direct"] else math.prod(target.spatial) + ROOM),
        integers=2 * chunk,
    )


def _with_indices(call: Call, role: Role) -> Call:
    """The same call with indices of 32 bits at the beginning of the mask."""
    shape, name = pooled_shape(call), call.operator.by_role[Role.MASK].name
    indices = Tensor(INT32, shape, contiguous_strides(shape, INT32.itemsize), call.tensor(Role.INPUT).format)
    return replace(call, operator=_indexed(call.operator, role), values={**call.values, name: indices})


@cache
def _indexed(operator: Operator, role: Role) -> Operator:
    """The operator with indices of that role in the place of its mask."""
    return replace(
        operator, parameters=tuple(replace(p, role=role) if p.role is Role.MASK else p for p in operator.parameters)
    )


def _record(call: Call, tensors: tuple[Tensor, Tensor]) -> tuple[Record, list[Planes]]:
    """What both kernels are told: windows, types, and the mask's rows; and two tensors as planes."""
    record, windows = np.zeros(1, RECORD), call.windows
    for name in ("size", "out", "kernel", "stride", "pad"):
        missing = [int(name not in ("pad",))] * (3 - len(windows))
        record[name] = [*missing, *(getattr(w, name) for w in windows)]
    dtype = tensors[1].dtype
    record["code"], record["rounding"] = CODES[dtype], ROUNDINGS[call.operator.rounding(call) or "kept"]
    record["itemsize"] = np.dtype(compute_dtype(dtype)).itemsize
    record["mask_row"], record["bits"] = mask_shape(call)[-1], holds_bits(call)
    planes = [as_planes(tensor, layout_of(call)) for tensor in tensors]
    record["channels"] = planes[0].shape[1]
    return record, planes
