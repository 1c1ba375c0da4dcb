"""The suite's cases of max pooling gradients."""

from __future__ import annotations

import math

from ...base.status import ACL_ERROR_RT_AICORE_EXCEPTION
from ..model import FORWARD, PLANE, WINDOWS, CaseTensor, Values
from .building import BEYOND_INT64, Suite

_A2, _A3, _A950 = "Atlas A2", "Atlas A3", "Ascend 950"
_NAN, _LOW = Values("constant", (math.nan,)), Values("constant", (-math.inf,))
_EQUAL = Values("constant", (1.0,))


def max_suite() -> Suite:
    """aclnnMaxPool2dWithIndicesBackward."""
    small, large = CaseTensor("float32", (2, 3, 4, 4), "NCHW"), CaseTensor("float32", (2, 3, 8, 8), "NCHW")
    indices = CaseTensor("int32", (2, 3, 4, 4), "NCHW", values=FORWARD)
    suite = Suite(
        "aclnnMaxPool2dWithIndicesBackward",
        {"gradOutput": small, "self": large, "indices": indices, "gradInput": large},
        {"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceilMode": False},
    )
    _windows(suite)
    _indices(suite)
    _ascend_950(suite)
    _layouts(suite)
    _refusals(suite)
    _refused_tensors(suite)
    return suite


def _windows(suite: Suite) -> None:
    pooled = suite.pooled
    overlapping = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
    pooled("overlap", "one maximum serves many windows: duplicates add up", (2, 3, 9, 7), **overlapping)
    why = "all elements are equal: the first of each window is the maximum"
    pooled("equal", why, (1, 2, 8, 8), self={"values": _EQUAL}, **overlapping)
    pooled(
        "padding", "windows that reach into the padding", (2, 3, 9, 7), kernelSize=(3, 3), stride=(2, 2), padding=(1, 1)
    )
    pooled("ceil", "ceil mode's last window is cut off", (2, 3, 8, 8), kernelSize=(3, 3), ceilMode=True)
    why = "a ceil-mode window that would begin in the right padding is dropped"
    pooled("ceil-dropped", why, (2, 3, 4, 4), stride=(3, 3), padding=(1, 1), ceilMode=True)
    pooled(
        "lengths-1",
        "arrays of one value hold for both axes",
        (2, 3, 9, 9),
        kernelSize=(3,),
        stride=(2,),
        padding=(1,),
        dilation=(1,),
    )
    pooled("stride-empty", "an empty stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=())
    pooled("gaps", "a stride beyond the kernel leaves elements that get 0", (1, 2, 11, 11), stride=(4, 5))
    pooled("global", "one window over the whole plane", (2, 3, 7, 5), kernelSize=(7, 5))
    pooled("one-element", "the smallest tensors there are", (1, 1, 1, 1), kernelSize=(1, 1), stride=(1, 1))
    empty = {"gradOutput": {"shape": (0, 3, 4, 4)}, "self": {"shape": (0, 3, 8, 8)}}
    suite.add("empty-batch", "an empty batch is a success with nothing to do", **empty)


def _indices(suite: Suite) -> None:
    add, pooled = suite.add, suite.pooled
    pooled("nan", "NaN is the maximum of its window", (1, 1, 8, 8), self={"values": _NAN})
    pooled("minus-inf", "where all is -Inf an index still points into its window", (1, 1, 8, 8), self={"values": _LOW})
    overlapping = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
    pooled(
        "indices-drawn", "legal indices that are no maxima", (2, 3, 9, 7), indices={"values": WINDOWS}, **overlapping
    )
    add("indices-astray", "indices outside their windows, inside the plane", indices={"values": PLANE})
    add("indices-one-place", "every gradient goes to one element", indices={"values": Values("constant", (63.0,))})
    bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
    add("index-beyond-plane", "H*W is outside the plane", indices={"values": Values("constant", (64.0,))}, **bad)
    add("index-negative", "-1 is outside the plane", indices={"values": Values("constant", (-1.0,))}, **bad)


def _ascend_950(suite: Suite) -> None:
    pooled = suite.pooled
    why = "Ascend 950 takes dilation"
    pooled("dilation-2", why, (2, 3, 11, 9), kernelSize=(3, 3), dilation=(2, 2), padding=(1, 1), product=_A950)
    pooled("dilation-uneven", why, (2, 3, 13, 12), kernelSize=(2, 3), dilation=(3, 2), stride=(1, 2), product=_A950)
    pooled("dilation-ceil", why, (2, 3, 11, 11), kernelSize=(3, 3), dilation=(2, 3), ceilMode=True, product=_A950)
    pooled("int64", "Ascend 950 takes int64 indices", (2, 3, 8, 8), indices={"dtype": "int64"}, product=_A950)
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        window = {"kernelSize": (3, 3), "stride": (1, 1), "padding": (1, 1)}
        pooled(f"dtype-{dtype}", why, (2, 3, 9, 7), floats={"dtype": dtype}, product=_A950, **window)
    for rank, lead in ((4, (2,)), (3, ())):
        why = f"NHWC with rank {rank}: an index still means h*W+w in one plane"
        pooled(f"NHWC-rank-{rank}", why, (*lead, 8, 6, 3), every={"format": "NHWC"}, product=_A950)


def _layouts(suite: Suite) -> None:
    for format in ("NCHW", "ND", "NCL"):
        suite.pooled(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", (3, 8, 6), every={"format": format})
    suite.add("ND", "format ND with rank 4", every={"format": "ND"})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    suite.add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    apart = {"strides": (192, 64, 16, 2), "storage": (384,), "offset": 1}
    suite.add(
        "strided", "gradOutput and indices are every second element of something", gradOutput=apart, indices=apart
    )
    wide = {"strides": (600, 200, 20, 2), "storage": (1200,), "offset": 3}
    suite.add("strided-output", "memory between the output's elements is not touched", gradInput=wide)


def _refusals(suite: Suite) -> None:
    refused = suite.refused
    suite.nulls("gradOutput", "self", "indices", "kernelSize", "stride", "padding", "dilation", "gradInput")
    refused("product", "the product does not have the operator", product="Atlas inference series")
    refused("int64-dilation", "a number beyond 64 bits", dilation=(1, BEYOND_INT64))
    for parameter, length in (("kernelSize", 0), ("stride", 3), ("padding", 3), ("dilation", 0)):
        refused(f"{parameter}-length-{length}", f"{parameter} has {length} values", **{parameter: (1,) * length})
    refused("kernel-zero", "a kernel of 0", kernelSize=(0, 2))
    refused("stride-negative", "a negative stride", stride=(-2, 2))
    refused("padding-negative", "negative padding", padding=(0, -1))
    refused("padding-beyond-half", "padding is more than half the kernel", kernelSize=(3, 3), padding=(2, 2))
    for product in (_A2, _A3):
        refused(
            f"dilation-{product.replace(' ', '-')}",
            f"{product} takes dilation 1 only",
            dilation=(2, 1),
            product=product,
        )
    refused("dilation-zero", "a dilation of 0", dilation=(0, 1))
    refused("windows-do-not-fit", "the kernel is larger than the input", kernelSize=(9, 9))
    refused(
        "window-empty",
        "dilation steps over the whole input: no index could be right",
        kernelSize=(2, 2),
        stride=(1, 2),
        padding=(1, 0),
        dilation=(2, 1),
        self={"shape": (2, 3, 1, 8)},
        product=_A950,
    )


def _refused_tensors(suite: Suite) -> None:
    refused = suite.refused
    suite.refused_planes()
    refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
    refused("dtype-float16-Atlas-A2", "Atlas A2 has float32 only", floats={"dtype": "float16"}, product=_A2)
    refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=_A950)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "gradInput and self differ in dtype", gradInput={"dtype": "bfloat16"})
    refused("indices-float", "indices are integers", indices={"dtype": "float32"})
    refused("indices-int64-Atlas-A2", "Atlas A2 takes int32 indices only", indices={"dtype": "int64"}, product=_A2)
    refused("format-private", "private formats are refused", every={"format": "NC1HWC0"})
    refused("format-NHWC-Atlas-A2", "NHWC is on Ascend 950 only", every={"format": "NHWC"}, product=_A2)
    for parameter in ("gradOutput", "indices", "gradInput"):
        refused(f"format-of-{parameter}", f"{parameter} and self differ in format", **{parameter: {"format": "ND"}})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 9, 8)})
    refused("empty-channels", "only the batch may be empty", self={"shape": (2, 0, 8, 8)})
    refused("empty-rows", "only the batch may be empty", self={"shape": (2, 3, 0, 8)})
    refused("batch-differs", "gradOutput has another batch than self", gradOutput={"shape": (1, 3, 4, 4)})
    refused("shape-of-indices", "indices have another shape than gradOutput", indices={"shape": (2, 3, 4, 3)})
    refused("outside-storage", "the view of indices ends behind its storage", indices={"storage": (2, 3, 4, 3)})


def adaptive_max_suite() -> Suite:
    """aclnnAdaptiveMaxPool2dBackward."""
    small, large = CaseTensor("float32", (2, 3, 4, 4), "ND"), CaseTensor("float32", (2, 3, 8, 8), "ND")
    indices = CaseTensor("int32", (2, 3, 4, 4), "ND", values=FORWARD)
    suite = Suite(
        "aclnnAdaptiveMaxPool2dBackward",
        {"gradOutput": small, "self": large, "indices": indices, "gradInput": large},
    )
    add = suite.add

    def sizes(out: tuple[int, ...], size: tuple[int, ...]) -> dict[str, object]:
        return {"gradOutput": {"shape": out}, "self": {"shape": size}}

    add("uneven", "windows of different lengths that overlap: duplicates add up", **sizes((2, 3, 4, 5), (2, 3, 9, 11)))
    add("upsampling", "more windows than elements: every maximum serves several", **sizes((2, 3, 9, 7), (2, 3, 4, 5)))
    add("global", "one window over the whole plane", **sizes((2, 3, 1, 1), (2, 3, 7, 5)))
    add("identity", "as many windows as elements", **sizes((2, 3, 5, 7), (2, 3, 5, 7)))
    add("int64", "int64 indices", indices={"dtype": "int64"})
    for dtype in ("float16", "bfloat16"):
        why = f"{dtype} is summed in float32 and rounded once"
        add(f"dtype-{dtype}", why, floats={"dtype": dtype}, **sizes((2, 3, 9, 7), (2, 3, 4, 5)))
    for format in ("ND", "NCHW", "NCL"):
        three = sizes((3, 3, 4), (3, 7, 9))
        add(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", every={"format": format}, **three)
    add("NCHW", "format NCHW with rank 4", every={"format": "NCHW"})
    add("empty-batch", "an empty batch is a success with nothing to do", **sizes((0, 3, 4, 4), (0, 3, 8, 8)))
    add("empty-gradients", "no gradients: the whole output becomes 0", **sizes((2, 3, 0, 4), (2, 3, 8, 8)))
    add("nan", "NaN is the maximum of its window", self={"values": _NAN})
    add(
        "indices-drawn",
        "legal indices that are no maxima",
        indices={"values": WINDOWS},
        **sizes((2, 3, 3, 5), (2, 3, 8, 8)),
    )
    add("indices-one-place", "every gradient goes to one element", indices={"values": Values("constant", (63.0,))})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    backwards = {"strides": (-48, -16, -4, -1), "storage": (96,), "offset": 95}
    add("backwards", "gradOutput and indices are read from their ends", gradOutput=backwards, indices=backwards)
    bad = {"status": ACL_ERROR_RT_AICORE_EXCEPTION}
    add("index-beyond-plane", "H*W is outside the plane", indices={"values": Values("constant", (64.0,))}, **bad)
    _adaptive_refusals(suite)
    return suite


def _adaptive_refusals(suite: Suite) -> None:
    refused = suite.refused
    suite.nulls("gradOutput", "self", "indices", "gradInput")
    refused("product", "the product does not have the operator", product=_A950)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 8, BEYOND_INT64)})
    refused("dtype-int32", "integers are not pooled", floats={"dtype": "int32"})
    refused("dtype-float64", "no product has float64", floats={"dtype": "float64"}, product=_A2)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "gradInput and self differ in dtype", gradInput={"dtype": "bfloat16"})
    refused("indices-int16", "indices have 32 or 64 bits", indices={"dtype": "int16"})
    refused("rank-of-gradients", "gradOutput has rank 3, self rank 4", gradOutput={"shape": (3, 4, 4)})
    refused("rank-of-indices", "indices have rank 3, self rank 4", indices={"shape": (3, 4, 4)})
    refused("rank-of-output", "gradInput has rank 3, self rank 4", gradInput={"shape": (3, 8, 8)})
    refused("shape-of-indices", "indices have another shape than gradOutput", indices={"shape": (2, 3, 4, 5)})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 8, 9)})
    for parameter in ("gradOutput", "indices", "gradInput"):
        refused(f"format-of-{parameter}", f"{parameter} and self differ in format", **{parameter: {"format": "NCHW"}})
    for format in ("NHWC", "FRACTAL_NZ"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("rank-2", "rank 2", gradOutput={"shape": (4, 4)}, self={"shape": (8, 8)})
    refused("NCL-of-rank-4", "NCL has three axes", every={"format": "NCL"})
    refused("size-negative", "a negative size", self={"shape": (2, 3, -8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4)})
    refused("plane-too-large", "an index can't hold 2^31 places", self={"shape": (2, 3, 2**16, 2**15)})
    huge = {"gradOutput": {"shape": (2**30, 2**30, 4, 4)}, "self": {"shape": (2**30, 2**30, 8, 8)}}
    refused("huge", "more bytes than 64 bits count", **huge)
    refused("outside-storage", "the view of indices ends behind its storage", indices={"storage": (95,)})
    refused(
        "output-overlaps",
        "elements of gradInput share memory",
        gradInput={"strides": (192, 64, 8, 0), "storage": (384,)},
    )
