"""What is wrong with indices or a mask, in words. Of a mask it is found again in its memory."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from ..base.errors import IndexRangeError
from ..base.status import ACL_ERROR_RT_AICORE_EXCEPTION, name_of
from ..base.tensor import Tensor
from ..contract.engine import Call
from ..contract.masks import holds_bits, mask_shape, positions
from ..contract.parameters import Role
from ..contract.pooling import pooled_shape, spatial_sizes
from ..kernels.record import GROUP


def mask_error(call: Call, address: int, output: int) -> IndexRangeError:
    """The error for an output, counted over all of them, of a mask that begins at the address."""
    told, expected = _wrong_with(call, address, output)
    x = call.operator.by_role[Role.INPUT].name
    change = f"mask of the forward pass over {x}, of the same product and numbers"
    return _bad(call, Role.MASK, f": {told}", expected, change)


def index_outside(call: Call, role: Role, position: Sequence[int], value: int, change: str = "") -> IndexRangeError:
    """The error for an index outside its plane."""
    sizes = spatial_sizes(call, Role.INPUT)
    change = change or f"indices of the forward pass over {call.operator.by_role[Role.INPUT].name}"
    told = f"[{', '.join(map(str, position))}] = {value} is outside its plane of {'x'.join(map(str, sizes))}"
    return _bad(call, role, told, f"0 to {math.prod(sizes) - 1}", change)


def outside_window(call: Call, position: Sequence[int], value: int) -> IndexRangeError:
    """The error for an index inside its plane that no mask of bits can tell."""
    ends = []
    for o, w in zip(position[-2:], call.windows, strict=True):
        inside = w.places(o)
        ends.append(f"{inside[0]} to {inside[-1]}")
    width = spatial_sizes(call, Role.INPUT)[-1]
    told = f"[{', '.join(map(str, position))}] = {value}, row {value // width} and column {value % width}"
    expected = f"a place in its window, rows {ends[0]} and columns {ends[1]}, since the mask holds bits"
    return _bad(call, Role.MASK, f"{told}, is outside its window", expected, "indices of a forward pass")


def _bad(call: Call, role: Role, told: str, expected: str, change: str) -> IndexRangeError:
    """The error for indices or a mask: what they say, what was expected, and what to pass instead."""
    status, name = ACL_ERROR_RT_AICORE_EXCEPTION, call.operator.by_role[role].name
    return IndexRangeError(
        f"{call.operator.name}: {name}{told}: expected {expected}. Pass the {change}. [{status} {name_of(status)}]",
        status=status,
        operator=call.operator.name,
        parameter=name,
        product=call.product_name,
    )


def _wrong_with(call: Call, address: int, output: int) -> tuple[str, str]:
    """What the mask says, and what was expected."""
    shape, windows = pooled_shape(call), call.windows
    where = [int(i) for i in np.unravel_index(output, shape)]
    told, plane = f"for output [{', '.join(map(str, where))}]", "x".join(str(w.size) for w in windows)
    if not holds_bits(call):
        value = int.from_bytes(_bytes(call.tensor(Role.MASK), address, 4 * output, 4), "little", signed=True)
        told = f"bytes {4 * output} to {4 * output + 3}, {told}, are the place {value}, outside its plane of {plane}"
        return told, f"0 to {math.prod(w.size for w in windows) - 1}"
    rows, columns = windows
    found = [divmod(k, columns.kernel) for k in _positions_set(call, address, output, shape)]
    first = [o * w.stride - w.pad for o, w in zip(where[-2:], windows, strict=True)]
    if len(found) != 1:
        what = "no position" if not found else f"{len(found)} positions, {found[0]}, {found[1]}"
        what += ", ..." if len(found) > 2 else ""
        return f"{told} {what} of its {rows.kernel}x{columns.kernel} window {'is' if not found else 'are'} set", "one"
    return f"{told} position {found[0]} of its window is set, which lies in the padding", (
        f"one inside the plane of {plane}; the window begins at ({first[0]}, {first[1]})"
    )


def _positions_set(call: Call, address: int, output: int, shape: tuple[int, ...]) -> list[int]:
    """The window positions at which an output's bit is set."""
    plane, number = divmod(output, math.prod(shape[-2:]))
    image, channel = divmod(plane, shape[-3])
    row = image * -(-shape[-3] // GROUP) + channel // GROUP
    length, count, mask = mask_shape(call)[-1], positions(call), call.tensor(Role.MASK)
    words = (_bytes(mask, address, (row * count + k) * length + 2 * number, 2) for k in range(count))
    return [k for k, word in enumerate(words) if int.from_bytes(word, "little") >> channel % GROUP & 1]


def _bytes(mask: Tensor, address: int, first: int, number: int) -> bytes:
    """Bytes of a mask, counted in the order of its elements, whatever its strides are."""
    places = np.unravel_index(np.arange(first, first + number), mask.shape)
    at = [
        address + sum(int(i) * step for i, step in zip(p, mask.strides, strict=True)) for p in zip(*places, strict=True)
    ]
    return bytes(ctypes.c_uint8.from_address(each).value for each in at)
