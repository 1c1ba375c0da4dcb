"""The same gradients by torch, and torch tensors in and out. Run by ``make test-torch``; needs torch."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from oracle import Case, OnlyDLPack, assert_same_bits, cases, gamma, parse

import poolgrad

TYPES = {
    torch.float64: np.dtype(np.float64),
    torch.float32: np.dtype(np.float32),
    torch.float16: np.dtype(np.float16),
    torch.bfloat16: np.dtype("bfloat16"),
}
FULL = (torch.float64, torch.float32)
HALVES = (torch.float16, torch.bfloat16)

AVERAGES = """
avg n2c3h8w10 k2                     | disjoint                   | side by side
avg c3h8w10 k2                       | disjoint unbatched         | without a batch
avg n2c3h9w11 k3 s2 p1               | overlap padded             | overlapping
avg n2c3h9w11 k3 s2 p1 nopad         | overlap padded             | divisors that vary
avg n2c2h9w20 k7 s1 p3               | overlap padded             | long runs
avg n2c3h8w9 k4 s3 p2 ceil           | clipped overlap            | cut off
avg n2c3h8w9 k4 s3 p2 ceil nopad     | clipped overlap            | cut off, divisors that vary
avg n2c3h9w14 k2 s3                  | gap                        | gaps
avg n2c3h5w8 k5,8                    | global                     | global
avg n2c3h7w8 k3 s2 div=7             | overlap                    | a divisor
avg n2c3h7w8 k3 s2 div=-5            | overlap negative-divisor   | a negative divisor
avg n1c2h6w8 k2 div=1099511627777    | huge-divisor               | a huge divisor
avg n1c2h2w2 k5 s1 p2 nopad          | padded overlap             | windows that hold everything
avg n1c2h56w57 k3 s2 p1              | overlap padded             | a plane of middle size
aavg n2c3d4h6w8 o2,3,4               | disjoint deep              | adaptive, even
aavg c3d4h6w8 o2,3,4                 | disjoint deep unbatched    | adaptive, without a batch
aavg n2c3d3h7w11 o2,3,4              | overlap deep uneven        | adaptive, uneven
aavg n2c2d2h3w4 o3,5,9               | larger overlap deep        | adaptive, more windows than elements
aavg n1c2d3h5w7 o1,1,1               | one-output                 | adaptive, global
aavg2 n2c3h6w8 o3,4                  | disjoint                   | adaptive planes, even
aavg2 c3h7w11 o5,4                   | overlap uneven unbatched   | adaptive planes, uneven
aavg2 n2c2h3w4 o7,9                  | larger overlap             | adaptive planes, more windows than elements
avg3 n2c3d4h6w8 k2                   | disjoint deep              | volumes, side by side
avg3 c3d5h7w20 k3 s1 p1              | overlap padded deep unbatched | volumes, overlapping
avg3 n2c2d5h7w9 k3 s2 p1 ceil nopad  | overlap padded deep        | volumes, divisors that vary
avg3 n2c2d7h8w6 k4,3,2 s3,2,1 p2,1,0 ceil | clipped overlap deep  | volumes, cut off
avg3 n1c2d5h20w6 k2,11,1 s1 p0,5,0   | overlap padded deep        | volumes, long windows
avg3 n1c2d5h6w9 k2 s3 div=-5         | gap negative-divisor deep  | volumes, gaps and a negative divisor
"""
MAXIMA = """
max n2c3h8w10 k2                     | disjoint                   | side by side
max c3h8w10 k2                       | disjoint unbatched         | without a batch
max n2c3h9w11 k3 s2 p1               | overlap padded             | overlapping
max n2c3h9w11 k3 s1                  | overlap                    | every step a window
max n2c3h8w8 k3 s2 ceil              | overlap clipped            | cut off
max n2c3h9w9 k3 dil2                 | dilated overlap            | dilated
max n1c2h10w9 k2 s3 p1 dil3,2 ceil   | dilated                    | dilated and cut off
max n2c3h9w14 k2 s3                  | gap                        | gaps
max n2c3h5w8 k5,8                    | global                     | global
amax n2c3h6w8 o3,4                   | disjoint                   | adaptive, even
amax c3h6w8 o3,4                     | disjoint unbatched         | adaptive, without a batch
amax n2c3h7w11 o5,4                  | overlap uneven             | adaptive, uneven
amax n2c3h3w4 o7,9                   | larger overlap             | adaptive, more windows than elements
max3 n2c3d4h6w8 k2                   | disjoint deep              | volumes, side by side
max3 c3d5h7w9 k3 s2 p1               | overlap padded deep unbatched | volumes, overlapping
max3 n2c2d5h8w8 k3 s2 ceil           | overlap clipped deep       | volumes, cut off
max3 n1c2d5h6w9 k2 s3                | gap deep                   | volumes, gaps
amax3 n2c3d4h6w8 o2,3,4              | disjoint deep              | adaptive volumes, even
amax3 c3d5h7w11 o2,5,4               | overlap uneven deep unbatched | adaptive volumes, uneven
amax3 n1c2d2h3w4 o3,7,9              | larger overlap deep        | adaptive volumes, more windows than elements
"""


# ---- torch's own answers ---------------------------------------------------------------------------------------------


def by_torch(case: Case, gradients: torch.Tensor, x: torch.Tensor, indices: torch.Tensor | None = None):
    named = partial(getattr, torch.ops.aten)
    if case.output_size:
        if case.averages:
            return named(f"_adaptive_avg_pool{case.axes}d_backward")(gradients, x)
        return named(f"adaptive_max_pool{case.axes}d_backward")(gradients, x, indices)
    if case.averages:
        include_pad = case.arguments.get("count_include_pad", True)
        parameters = (case.kernel, case.stride, case.padding, case.ceil, include_pad, case.divisor or None)
        return named(f"avg_pool{case.axes}d_backward")(gradients, x, *parameters)
    parameters = (case.kernel, case.stride, case.padding, case.dilation, case.ceil, indices)
    return named(f"max_pool{case.axes}d_with_indices_backward")(gradients, x, *parameters)


def forward_by_torch(case: Case, x: torch.Tensor) -> torch.Tensor:
    """What is pooled by averages, or the indices of what is pooled by maxima."""
    named = partial(getattr, torch.nn.functional)
    if case.output_size:
        if case.averages:
            return named(f"adaptive_avg_pool{case.axes}d")(x, case.output_size)
        return named(f"adaptive_max_pool{case.axes}d")(x, case.output_size, return_indices=True)[1]
    if case.averages:
        return named(f"avg_pool{case.axes}d")(x, case.kernel, case.stride, case.padding, case.ceil)
    parameters = (case.kernel, case.stride, case.padding, case.dilation, case.ceil)
    return named(f"max_pool{case.axes}d")(x, *parameters, return_indices=True)[1]


def tensors(case: Case, dtype: torch.dtype):
    """Gradients and x of the case, by torch's own generator, and the indices that torch finds."""
    generator = torch.Generator().manual_seed(len(case.text))
    x = torch.randn(case.x_shape, generator=generator, dtype=torch.float64).to(dtype)
    gradients = torch.randn(case.grad_shape, generator=generator, dtype=torch.float64).to(dtype)
    return gradients, x, None if case.averages else forward_by_torch(case, x)


def assert_close(case: Case, result: torch.Tensor, gradients: torch.Tensor, x, indices) -> None:
    """Within what the roundings of both sides allow; torch adds in any order, in float64."""
    exact = by_torch(case, gradients.double(), x.double(), indices)
    magnitude = by_torch(case, gradients.double().abs(), x.double(), indices).abs()
    terms = math.prod(max(axis) for axis in case.covered) if case.averages else gradients[0].numel()
    bound = gamma(1 + terms, torch.finfo(result.dtype).eps / 2) + gamma(4 + terms, 2.0**-53)
    assert ((result.double() - exact).abs() <= bound * magnitude).all()


def same_bits(result: torch.Tensor, expected: torch.Tensor) -> bool:
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[result.element_size()]
    assert result.dtype == expected.dtype
    return torch.equal(result.contiguous().view(words), expected.contiguous().view(words))


@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_torch_agrees_about_the_geometry(case: Case):
    x = torch.zeros(case.x_shape, dtype=torch.float64)
    assert tuple(forward_by_torch(case, x).shape) == case.grad_shape


@pytest.mark.parametrize("dtype", FULL, ids=str)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_values_are_torchs(case: Case, dtype):
    gradients, x, indices = tensors(case, dtype)
    result = case.run(gradients, x, indices)
    assert type(result) is torch.Tensor
    assert result.dtype == dtype
    assert not result.requires_grad
    assert_close(case, result, gradients, x, indices)
    if not case.averages:
        assert same_bits(case.run(gradients, x, indices.int()), result)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_halves_are_torchs_float32_rounded_once(case: Case, dtype):
    gradients, x, indices = tensors(case, dtype)
    result = case.run(gradients, x, indices)
    assert type(result) is torch.Tensor
    single = case.run(gradients.float(), x.float(), indices)
    assert_close(case, single, gradients.float(), x.float(), indices)
    assert same_bits(result, single.to(dtype))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_tensors_and_arrays_give_the_same_bits(case: Case, dtype):
    gradients, x, indices = tensors(case, dtype)
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[gradients.element_size()]
    array = gradients.view(words).numpy().view(TYPES[dtype])
    expected = case.run(array, case.x_shape, None if indices is None else indices.numpy())
    result = case.run(gradients, x, indices)
    assert_same_bits(result.view(words).numpy().view(TYPES[dtype]), expected)


# ---- memory formats --------------------------------------------------------------------------------------------------


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    if tensor.dim() == 5:
        return tensor.contiguous(memory_format=torch.channels_last_3d)
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0)


def cropped(tensor: torch.Tensor) -> torch.Tensor:
    room = torch.full([size + 3 for size in tensor.shape], 1, dtype=tensor.dtype)
    view = room[tuple(slice(1, 1 + size) for size in tensor.shape)]
    return view.copy_(tensor)


def every_second(tensor: torch.Tensor) -> torch.Tensor:
    room = torch.full([2 * size for size in tensor.shape], 1, dtype=tensor.dtype)
    return room[tuple(slice(None, None, 2) for _ in tensor.shape)].copy_(tensor)


MEMORY = {
    "contiguous": torch.Tensor.contiguous,
    "channels last": channels_last,
    "transposed": lambda tensor: tensor.transpose(-1, -2).contiguous().transpose(-1, -2),
    "batch inside": lambda tensor: tensor.transpose(0, 1).contiguous().transpose(0, 1),
    "cropped": cropped,
    "every second": every_second,
    "with an offset": lambda tensor: torch.cat([tensor[:1], tensor])[1:],
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_memory_formats(case: Case, memory, dtype):
    """In, out, and as the model of the result."""
    gradients, x, indices = tensors(case, dtype)
    expected = case.run(gradients, x, indices)
    laid_out = MEMORY[memory]
    assert torch.equal(laid_out(gradients), gradients)
    model = laid_out(x)
    result = case.run(laid_out(gradients), model, None if indices is None else laid_out(indices))
    assert same_bits(result, expected)
    if memory not in ("cropped", "every second", "with an offset"):
        assert [s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1] == [
            s for s, n in zip(model.stride(), model.shape, strict=True) if n > 1
        ]
    target = laid_out(torch.full_like(x, math.nan))
    assert case.run(gradients, x, indices, out=target) is target
    assert same_bits(target, expected)


@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_channels_last_stays_channels_last(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    if x.dim() == len(case.spatial) + 1:
        x = channels_last(x)
        assert case.run(gradients, x, indices).stride() == x.stride()
        return
    memory_format = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    x = x.contiguous(memory_format=memory_format)
    result = case.run(gradients, x, indices)
    assert result.is_contiguous(memory_format=memory_format)
    # a shape asks for C order, whatever the gradients look like
    assert case.run(channels_last(gradients), x.shape, indices).is_contiguous()


@pytest.mark.parametrize("memory", ["cropped", "every second"])
@pytest.mark.parametrize("case", cases(AVERAGES + MAXIMA))
def test_nothing_beside_the_output_is_written(case: Case, memory):
    gradients, x, indices = tensors(case, torch.float32)
    target = MEMORY[memory](torch.full_like(x, math.nan))
    room = target._base
    case.run(gradients, x, indices, out=target)
    assert int(room.isnan().sum()) == 0
    target.fill_(1)
    assert bool((room == 1).all())


def test_expanded_gradients():
    """What the gradient of a sum looks like: one number, no strides."""
    for line in ("avg n2c3h9w11 k3 s2 p1 | | x", "aavg n2c3d3h7w11 o2,3,4 | | x", "max n2c3h9w11 k3 s2 p1 | | x"):
        case = parse(line)
        _, x, indices = tensors(case, torch.float32)
        gradients = torch.ones(()).expand(case.grad_shape)
        assert same_bits(case.run(gradients, x, indices), case.run(gradients.contiguous(), x, indices))


# ---- what goes in, what comes out ------------------------------------------------------------------------------------

SOME = """
avg n2c3h9w11 k3 s2 p1       | overlap padded         | averages
aavg n2c3d3h7w11 o2,3,4      | overlap deep uneven    | adaptive averages
max n2c3h9w11 k3 s2 p1       | overlap padded         | maxima
amax n2c3h7w11 o5,4          | overlap uneven         | adaptive maxima
"""
some_cases = pytest.mark.parametrize("case", cases(SOME))


@some_cases
def test_a_shape_instead_of_x(case: Case):
    gradients, x, indices = tensors(case, torch.bfloat16)
    for shape in (tuple(x.shape), x.shape):
        result = case.run(gradients, shape, indices)
        assert type(result) is torch.Tensor
        assert result.dtype == torch.bfloat16
        assert same_bits(result, case.run(gradients, x, indices))


@some_cases
def test_tensors_that_require_grad_are_refused(case: Case):
    """Whichever it is; the message says where to go instead."""
    gradients, x, indices = tensors(case, torch.float32)
    out = torch.zeros_like(x)
    for one in (gradients, x, out):
        one.requires_grad_()
        with pytest.raises((ValueError, TypeError, RuntimeError), match=r"poolgrad\.torch"):
            case.run(gradients, x, indices, out=out)
        one.requires_grad_(False)
    assert case.run(gradients, x, indices, out=out) is out


@some_cases
def test_the_result_follows_the_gradients(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    expected = case.run(gradients, x, indices)
    from_array = case.run(gradients.numpy(), x, indices)
    assert type(from_array) is np.ndarray
    assert same_bits(torch.from_numpy(from_array), expected)
    from_tensor = case.run(gradients, x.numpy(), None if indices is None else indices.numpy())
    assert type(from_tensor) is torch.Tensor
    assert same_bits(from_tensor, expected)


@some_cases
def test_out_of_the_other_kind(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    expected = case.run(gradients, x, indices)
    array = np.full(tuple(x.shape), np.nan, dtype=np.float32)
    assert case.run(gradients, x, indices, out=array) is array
    assert same_bits(torch.from_numpy(array), expected)
    tensor = torch.full_like(x, math.nan)
    assert case.run(gradients.numpy(), x, indices, out=tensor) is tensor
    assert same_bits(tensor, expected)


@some_cases
def test_out_may_be_the_tensor_x(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    expected = case.run(gradients, x, indices)
    assert case.run(gradients, x, indices, out=x) is x
    assert same_bits(x, expected)


@some_cases
def test_out_must_not_overlap_the_gradients(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    room = torch.full((gradients.numel() + x.numel(),), 5.0)
    view = room[: gradients.numel()].view(gradients.shape).copy_(gradients)
    before = room.clone()
    out = room[gradients.numel() - 1 :][: x.numel()].view(x.shape)
    with pytest.raises(poolgrad.AclnnError):
        case.run(view, x, indices, out=out)
    assert torch.equal(room, before)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@some_cases
def test_dlpack_of_a_tensor(case: Case, dtype):
    """All four types travel by DLPack, bfloat16 too, and come back as NumPy arrays."""
    gradients, x, indices = tensors(case, dtype)
    result = case.run(OnlyDLPack(gradients), tuple(x.shape), indices)
    assert type(result) is np.ndarray
    assert result.dtype == TYPES[dtype]
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[gradients.element_size()]
    expected = case.run(gradients, x, indices).view(words).numpy().view(TYPES[dtype])
    assert_same_bits(result, expected)


@some_cases
def test_tensors_are_not_modified(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    kept = [tensor.clone() for tensor in (gradients, x)]
    case.run(gradients, x, indices)
    assert torch.equal(gradients, kept[0])
    assert torch.equal(x, kept[1])


@some_cases
def test_inside_no_grad_and_inference_mode(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    expected = case.run(gradients, x, indices)
    with torch.no_grad():
        assert same_bits(case.run(gradients, x, indices), expected)
    with torch.inference_mode():
        assert same_bits(case.run(gradients, x, indices), expected)
        assert same_bits(case.run(gradients.clone(), x, indices), expected)


@some_cases
def test_parameters_and_detached_tensors(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    tracked = gradients.clone().requires_grad_()
    assert same_bits(case.run(tracked.detach(), x, indices), case.run(gradients, x, indices))


@some_cases
def test_a_negated_view_is_right_or_refused(case: Case):
    """torch may keep a sign apart from the memory."""
    gradients, x, indices = tensors(case, torch.float32)
    view = torch.complex(torch.zeros_like(gradients), gradients).conj().imag
    assert view.is_neg()
    try:
        result = case.run(view, x, indices)
    except (ValueError, TypeError, RuntimeError):
        return
    assert same_bits(result, case.run(-gradients, x, indices))


@some_cases
def test_a_tensor_without_memory_is_refused(case: Case):
    gradients, x, indices = tensors(case, torch.float32)
    for wrong in (gradients.to("meta"), gradients.to_sparse()):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            case.run(wrong, x, indices)


def test_an_empty_batch():
    for line in ("avg n0c3h8w10 k2 | | x", "aavg n0c3d2h8w10 o1,2,3 | | x"):
        case = parse(line)
        gradients = torch.empty(case.grad_shape, dtype=torch.bfloat16)
        result = case.run(gradients, torch.empty(case.x_shape, dtype=torch.bfloat16))
        assert type(result) is torch.Tensor
        assert tuple(result.shape) == case.x_shape


def test_a_bad_index_in_a_tensor_is_named():
    case = parse("max n2c3h8w10 k2 | | a bad index in a tensor")
    gradients, x, indices = tensors(case, torch.float32)
    indices[1, 2, 3, 4] = 80
    with pytest.raises(poolgrad.IndexRangeError, match="80") as caught:
        case.run(gradients, x, indices)
    assert caught.value.status == 507015
    assert "1, 2, 3, 4" in str(caught.value)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    cases(
        """
        avg n2c32h56w56 k3 s2 p1      | overlap padded    | many planes
        avg n1c1h700w701 k5 s1 p2     | overlap padded    | one plane
        max n2c32h57w57 k3 s2 p1      | overlap padded    | many planes of maxima
        amax n2c32h57w57 o20,21       | overlap uneven    | many planes of adaptive maxima
        aavg n2c8d9h31w33 o4,13,14    | overlap uneven    | volumes
        """
    ),
)
def test_large_tensors(case: Case, threads):
    before = poolgrad.get_num_threads()
    try:
        poolgrad.set_num_threads(threads)
        gradients, x, indices = tensors(case, torch.float32)
        assert_close(case, case.run(gradients, x, indices), gradients, x, indices)
        last = case.run(channels_last(gradients), channels_last(x), indices)
        assert same_bits(last, case.run(gradients, x, indices))
    finally:
        poolgrad.set_num_threads(before)
