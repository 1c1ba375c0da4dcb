"""Masks and indices of max pooling, each from the other: for those who have one and need the other.

What a mask holds is in contract/masks.py. Here it is read and written as a whole, image by image, with NumPy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import adapters
from .base.dtypes import FLOAT32
from .base.errors import AclnnError
from .base.products import ANY, find_product
from .base.status import ACLNN_ERR_PARAM_INVALID
from .base.tensor import Tensor
from .contract.checks import dtype_in, same
from .contract.engine import Call, Check, enforce
from .contract.masks import holds_bits, mask_shape, maxima_and_mask, positions
from .contract.operator import Operator
from .contract.parameters import INDICES, Role
from .kernels.record import GROUP
from .operators import REGISTRY
from .run import elsewhere
from .run.bad_indices import index_outside, mask_error, outside_window
from .run.calls import Ints, described_numbers, hint_of_shape, of_shape

Array = NDArray[Any]

# The gradient that takes masks, on every product whose forward pass gives them.
_TAKES, _GIVES = (
    next(o for o in REGISTRY.values() if any(p.role is Role.MASK and p.output == output for p in o.parameters))
    for output in (False, True)
)
_OPERATOR = replace(_TAKES, products=_GIVES.products)


def mask_to_indices(
    mask: Any,
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    product: str | None = None,
    index_dtype: Any = None,
    out: Any = None,
) -> Any:
    """The indices that a mask of ``max_pool2d_with_mask`` stands for: ``h * W + w`` of each maximum in its own plane.

    ``x`` is what was pooled, or its shape. The numbers and the product are those of the call that gave the mask. The
    result is an array of the mask's kind, in C order, of ``index_dtype``: int64, or int32 with a product, if it is
    None; or ``out``, if that is given. Errors are as in ``max_pool2d_with_mask_backward``, and leave ``out`` as it was.
    Of a Dask array the result is one, lazily.

    >>> import numpy as np, poolgrad
    >>> values, mask = poolgrad.max_pool2d_with_mask(np.array([[[1.0, 3.0], [2.0, 0.0]]], np.float32), 2)
    >>> poolgrad.mask_to_indices(mask, (1, 2, 2), 2)
    array([[[1]]])
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    name = adapters.name_of_dtype(index_dtype) if index_dtype is not None else "int64" if product is None else "int32"
    with _in_words_of("mask_to_indices", "mask"):
        call, given = _call(numbers, x, product, "mask", mask)
        enforce(call, _OPERATOR.checks)
        if name not in ("int32", "int64"):
            raise TypeError(f"index_dtype must be int32 or int64, got {name}.")
        if lazily := elsewhere.taker_of((mask,), "indices_of_mask"):
            return lazily(_GIVES, call, mask, name, out)
        places = _from_bits(call, given) if holds_bits(call) else _from_places(call, given)
    shape = call.tensor(Role.GRADIENT).shape
    return _given_out(places.reshape(shape).astype(name), mask, out)


def indices_to_mask(
    indices: Any,
    x: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    *,
    product: str | None = None,
    out: Any = None,
) -> Any:
    """The mask that stands for indices: what ``max_pool2d_with_mask`` gives where the maxima are there.

    Indices, int32 or int64, are ``h * W + w`` in their own planes, (N,C,Ho,Wo) or (C,Ho,Wo). Other parameters and
    errors are as in ``mask_to_indices``. A mask of bits knows places inside an output's window only: any other, like
    one outside its plane, is the ``IndexRangeError``.

    >>> import numpy as np, poolgrad
    >>> mask = poolgrad.indices_to_mask(np.array([[[1]]]), (1, 2, 2), 2)
    >>> mask.shape, mask.ravel()[:4]
    ((1, 4, 64), array([1, 0, 0, 0], dtype=int8))
    """
    numbers = (kernel_size, stride, padding, dilation, ceil_mode)
    with _in_words_of("indices_to_mask", "indices"):
        call, given = _call(numbers, x, product, "indices", indices)
        own = (dtype_in((INDICES,), ("int32", "int64")), same("shape", INDICES, _OPERATOR.by_role[Role.GRADIENT]))
        enforce(call, (*_without_mask(_OPERATOR), *own))
        if lazily := elsewhere.taker_of((indices,), "mask_of_indices"):
            return lazily(_GIVES, call, indices, out)
        places = given.reshape(-1, *given.shape[-3:])  # an axis for the batch
        size = math.prod(w.size for w in call.windows)
        outside = (places < 0) | (places >= size)
        if outside.any():
            position = _first(outside)[-given.ndim :]
            raise index_outside(call, Role.MASK, position, int(given[position]), "indices of a forward pass")
        mask: Array = np.zeros(mask_shape(call), np.int8)
        if holds_bits(call):
            _into_bits(call, places, mask)
        else:
            stream = places.astype("<i4").reshape(-1).view(np.int8)
            mask.reshape(-1)[: stream.size] = stream
    return _given_out(mask, indices, out)


@contextmanager
def _in_words_of(function: str, given: str) -> Iterator[None]:
    """The rows are those of an operator whose parameters have other names, and one that nobody gave. Their errors speak
    of the function's own; only the rule in brackets stays as the tables have it."""
    words = {p.name: p.python_name for p in _OPERATOR.parameters}
    words |= {_OPERATOR.by_role[Role.MASK].name: given, _OPERATOR.by_role[Role.GRADIENT].name: "the pooled output"}
    try:
        yield
    except AclnnError as error:
        said, *rule = re.split(r"(?= \[\d{6} )", str(error), maxsplit=1)
        said = re.sub(r"^(\w+: \w+) \(\w+\)", r"\1", said).replace(_OPERATOR.name, function)
        said = re.sub(r"\b[a-z]\w*", lambda word: words.get(word[0], word[0]), said)
        raise type(error)(
            "".join((said, *rule)),
            status=error.status,
            operator=error.operator,
            parameter=words.get(error.parameter or "", error.parameter),
            product=error.product,
        ) from None


def _call(numbers: tuple[Any, ...], x: Any, product: str | None, name: str, array: Any) -> tuple[Call, Array]:
    """The call that a mask or indices belong to, with a gradient that nobody gave; and these as an array."""
    by_role, format = _OPERATOR.by_role, _OPERATOR.default_format
    source, where = by_role[Role.INPUT], by_role[Role.MASK].name
    values = described_numbers(_OPERATOR, numbers)
    wanted = ANY if product is None else find_product(product)
    in_memory = elsewhere.taker_of((array,), "indices_of_mask") is None
    describe = adapters.describe if in_memory else adapters.describe_without_memory
    given = None if array is None else describe(array, name, format)
    values |= dict.fromkeys((p.name for p in _OPERATOR.tensors), None)
    values[where] = None if given is None else given.tensor
    hint = ""
    if x is not None:
        shape = x
        if not isinstance(x, tuple | list):
            like = describe(x, "x", format).tensor
            shape, hint = like.shape, hint_of_shape(source, like)
        tensor = of_shape(shape, source, Tensor(FLOAT32, (), (), format))
        values |= {by_role[role].name: tensor for role in (Role.INPUT, Role.RESULT)}
        values[by_role[Role.GRADIENT].name] = maxima_and_mask(Call(_OPERATOR, wanted, values))[0]
    addresses = {} if given is None else {where: given.address}
    memory = adapters.as_numpy(array, name) if given and in_memory else np.empty(0)
    return Call(_OPERATOR, wanted, values, addresses, hint=hint), memory


def _without_mask(operator: Operator) -> tuple[Check, ...]:
    """The rows that say nothing of the mask, but that it is there."""
    mask = operator.by_role[Role.MASK].name
    return tuple(c for c in operator.checks if c.key == f"{mask}-null" or not c.key.startswith(f"{mask}-"))


class _Outputs(NamedTuple):
    """What there is for each image: groups of channels, window positions, outputs, and where windows begin."""

    images: int
    channels: int
    groups: int
    positions: int
    number: int
    tops: Array
    lefts: Array

    @classmethod
    def of(cls, call: Call) -> _Outputs:
        *lead, channels, height, width = call.tensor(Role.GRADIENT).shape
        rows, columns = call.windows
        tops, lefts = (np.arange(n) * w.stride - w.pad for n, w in ((height, rows), (width, columns)))
        each = np.broadcast_arrays(tops[:, None], lefts)
        groups, images = -(-channels // GROUP), math.prod(lead)
        return cls(images, channels, groups, positions(call), height * width, each[0].ravel(), each[1].ravel())


def _from_places(call: Call, mask: Array) -> Array:
    stream = np.ascontiguousarray(mask).reshape(-1)[: 4 * call.tensor(Role.GRADIENT).count]
    places = stream.view("<i4")
    wrong = (places < 0) | (places >= math.prod(w.size for w in call.windows))
    if wrong.any():
        raise mask_error(call, call.addresses[call.operator.by_role[Role.MASK].name], int(wrong.argmax()))
    return places


def _from_bits(call: Call, mask: Array) -> Array:
    of, (rows, columns) = _Outputs.of(call), call.windows
    rows_of_words = np.ascontiguousarray(mask).reshape(-1, mask.shape[-1])[: of.images * of.groups * of.positions]
    words = rows_of_words.view("<u2").reshape(of.images, of.groups, of.positions, mask.shape[-1] // 2)[..., : of.number]
    places = np.empty((of.images, of.channels, of.number), np.int64)
    lanes = np.arange(GROUP, dtype=np.uint16)[:, None]
    for image in range(of.images):
        count = np.zeros((of.groups * GROUP, of.number), np.int64)
        which = np.zeros_like(count)
        for k in range(of.positions if of.positions > 1 else 0):
            is_set = (words[image, :, k, None] >> lanes & 1).reshape(count.shape)
            count += is_set
            which += is_set * np.int64(k)
        h, w = of.tops + which // columns.kernel, of.lefts + which % columns.kernel
        right = (count == 1) & (h >= 0) & (h < rows.size) & (w >= 0) & (w < columns.size)
        right = right[: of.channels] | (of.positions == 1)
        if not right.all():
            first = image * of.channels * of.number + int((~right).argmax())
            raise mask_error(call, call.addresses[call.operator.by_role[Role.MASK].name], first)
        places[image] = (h * columns.size + w)[: of.channels]
    return places


def _into_bits(call: Call, indices: Array, mask: Array) -> None:
    of, (rows, columns) = _Outputs.of(call), call.windows
    length = mask.shape[-1]
    words = np.zeros((of.images, of.groups, of.positions, length // 2), "<u2")
    lanes = np.uint16(1) << np.arange(GROUP, dtype=np.uint16)[:, None]
    for image in range(of.images):
        places = indices[image].reshape(of.channels, of.number).astype(np.int64)
        kh, kw = places // columns.size - of.tops, places % columns.size - of.lefts
        outside = (kh < 0) | (kh >= rows.kernel) | (kw < 0) | (kw >= columns.kernel)
        if outside.any():
            position = (image, *_first(outside.reshape(indices.shape[1:])))
            value = int(indices[position])
            raise outside_window(call, position[-call.tensor(Role.MASK).rank :], value)
        which = np.full((of.groups, GROUP, of.number), -1)
        which.reshape(-1, of.number)[: of.channels] = kh * columns.kernel + kw
        for k in range(of.positions):
            words[image, :, k, : of.number] = np.where(which == k, lanes, 0).sum(1, dtype=np.uint16)
    if of.positions == 1:
        words[..., : length // 2 - GROUP] = 0xFFFF
    mask.reshape(-1)[: words.nbytes] = words.reshape(-1).view(np.int8)


def _first(flags: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(flags.argmax()), flags.shape))


def _given_out(result: Array, kind: Any, out: Any) -> Any:
    """The result as an array of that kind, or in ``out``."""
    if out is None:
        return adapters.like(kind, result)
    target = adapters.describe(out, "out", "ND", output=True)
    dtype, shape = target.tensor.dtype.name, target.tensor.shape
    if (dtype, shape) != (result.dtype.name, result.shape) or not target.tensor.writable:
        got = f"{dtype} of shape {shape}{'' if target.tensor.writable else ', read-only'}"
        expected = f"a writable array of {result.dtype.name}, shape {result.shape}"
        raise AclnnError(f"out: expected {expected}; got {got}.", status=ACLNN_ERR_PARAM_INVALID, parameter="out")
    adapters.note_write(out)
    adapters.write(target.owner, result)
    return out
