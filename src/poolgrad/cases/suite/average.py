"""The suite's cases of average pooling gradients."""

from __future__ import annotations

import math

from ..model import CaseTensor, Values
from .building import BEYOND_INT64, Suite

_NAN, _INF = Values("constant", (math.nan,)), Values("constant", (math.inf,))
_A2, _INFERENCE, _TRAINING, _A950 = "Atlas A2", "Atlas inference series", "Atlas training series", "Ascend 950"


def average_suite() -> Suite:
    """aclnnAvgPool2dBackward."""
    small, large = CaseTensor("float32", (2, 3, 4, 4), "NCHW"), CaseTensor("float32", (2, 3, 8, 8), "NCHW")
    suite = Suite(
        "aclnnAvgPool2dBackward",
        {"gradOutput": small, "self": large, "gradInput": large},
        {
            "kernelSize": (2, 2),
            "stride": (2, 2),
            "padding": (0, 0),
            "ceilMode": False,
            "countIncludePad": True,
            "divisorOverride": 0,
            "cubeMathType": 1,
        },
    )
    _windows(suite)
    _computation(suite)
    _layouts(suite)
    _refusals(suite)
    _refused_tensors(suite)
    return suite


def _windows(suite: Suite) -> None:
    pooled = suite.pooled
    window = {"kernelSize": (3, 3), "stride": (2, 2), "padding": (1, 1)}
    for include in (True, False):
        word = "counts" if include else "does-not-count"
        padding = {"countIncludePad": include, **window}
        pooled(f"divisor-0-padding-{word}", "divisorOverride 0 means none", (2, 3, 9, 7), **padding)
        why = "ceil mode's last window is cut off at input plus padding"
        pooled(f"ceil-padding-{word}", why, (2, 3, 8, 8), ceilMode=True, **padding)
        why = "a given divisor makes countIncludePad irrelevant"
        pooled(f"divisor-5-padding-{word}", why, (2, 3, 9, 7), divisorOverride=5, **padding)
    pooled("divisor-negative", "a divisor may be negative", (2, 3, 8, 8), divisorOverride=-3)
    pooled("divisor-255", "the largest divisor that every product takes", (2, 3, 8, 8), divisorOverride=255)
    why = "a divisor that float32 can't hold exactly"
    pooled("divisor-beyond-2-24", why, (2, 3, 8, 8), divisorOverride=2**24 + 1, product=_A2)
    pooled(
        "lengths-1", "arrays of one value hold for both axes", (2, 3, 9, 9), kernelSize=(3,), stride=(2,), padding=(1,)
    )
    pooled("stride-empty", "an empty stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=())
    pooled("stride-null", "a null stride means kernelSize", (2, 3, 9, 6), kernelSize=(3, 2), stride=None)
    why = "a ceil-mode window that would begin in the right padding is dropped"
    pooled("ceil-dropped", why, (2, 3, 4, 4), kernelSize=(2, 2), stride=(3, 3), padding=(1, 1), ceilMode=True)
    pooled("gaps", "a stride beyond the kernel leaves elements that get 0", (1, 2, 11, 11), stride=(4, 5))
    pooled("overlap", "every element is in many windows", (1, 2, 12, 12), kernelSize=(7, 5), stride=(1, 1))
    pooled(
        "kernel-beyond-input",
        "only padding makes it fit",
        (1, 2, 3, 3),
        kernelSize=(5, 5),
        stride=(1, 1),
        padding=(2, 2),
    )
    pooled("one-element", "the smallest tensors there are", (1, 1, 1, 1), kernelSize=(1, 1), stride=(1, 1))
    pooled(
        "odd-sizes",
        "no size is a multiple of anything",
        (3, 5, 17, 13),
        kernelSize=(3, 4),
        stride=(2, 3),
        padding=(1, 2),
    )
    pooled("nan", "NaN reaches its window and nothing else", (1, 1, 8, 8), gradOutput={"values": _NAN})
    pooled("inf", "Inf stays Inf, and does not become NaN", (1, 1, 8, 8), gradOutput={"values": _INF})


def _computation(suite: Suite) -> None:
    """cubeMathType 0 to 3 by dtype and product; see the table of the contract."""
    kept = {"Atlas A2": "0123", "Atlas A3": "0123", _A950: "0123", _INFERENCE: "12", _TRAINING: "12"}
    halves = {("float16", product): "012" for product in kept} | {
        ("bfloat16", "Atlas A2"): "01",
        ("bfloat16", "Atlas A3"): "01",
        ("bfloat16", _A950): "012",
    }
    for (dtype, product), allowed in {**{("float32", p): a for p, a in kept.items()}, **halves}.items():
        for mode in range(4):
            name = f"cube-{mode}-{dtype}-{product.replace(' ', '-')}"
            why = f"cubeMathType {mode} with {dtype} on {product}"
            options = {"cubeMathType": mode, "product": product, "every": {"dtype": dtype}}
            if str(mode) in allowed:
                suite.pooled(name, why, (1, 2, 8, 8), **options)
            else:
                suite.refused(name, f"{why} is refused", **options)
    for mode in range(4):
        why = f"global pooling has rules of its own on Ascend 950: cubeMathType {mode}"
        whole = {"kernelSize": (8, 8), "stride": (1, 1), "cubeMathType": mode, "product": _A950}
        suite.pooled(f"cube-{mode}-global", why, (1, 2, 8, 8), **whole)
    why = "bfloat16 in global pooling on Ascend 950 takes no float16 computation"
    suite.refused(
        "cube-2-global-bfloat16",
        why,
        kernelSize=(8, 8),
        cubeMathType=2,
        product=_A950,
        every={"dtype": "bfloat16"},
        gradOutput={"shape": (2, 3, 1, 1)},
    )


def _layouts(suite: Suite) -> None:
    for format in ("NCHW", "NCL"):
        suite.pooled(f"rank-3-{format}", f"rank 3 is C, H, W, in {format}", (3, 8, 6), every={"format": format})
    channels_last = {"strides": (192, 1, 24, 3), "storage": (384,)}
    suite.add("channels-last", "views whose channels lie side by side", self=channels_last, gradInput=channels_last)
    apart = {"strides": (192, 64, 16, 2), "storage": (384,), "offset": 1}
    suite.add("strided-gradients", "gradOutput is every second element of something", gradOutput=apart)
    backwards = {"strides": (-48, -16, -4, -1), "storage": (96,), "offset": 95}
    suite.add("backwards", "gradOutput is read from its end", gradOutput=backwards)
    broadcast = {"strides": (0, 0, 0, 0), "storage": (1,)}
    suite.add("broadcast", "one number stands for all of gradOutput", gradOutput=broadcast)
    wide = {"strides": (600, 200, 20, 2), "storage": (1200,), "offset": 3}
    suite.add("strided-output", "memory between the output's elements is not touched", gradInput=wide)


def _refusals(suite: Suite) -> None:
    refused = suite.refused
    suite.nulls("gradOutput", "self", "kernelSize", "padding", "gradInput")
    refused("product", "the product does not have the operator", product="Atlas 200I/500 A2")
    refused("int64-kernel", "a number beyond 64 bits", kernelSize=(BEYOND_INT64, 1))
    refused("int64-divisor", "a number beyond 64 bits", divisorOverride=-BEYOND_INT64 - 1)
    refused("kernel-empty", "kernelSize has no value", kernelSize=())
    refused("kernel-three", "kernelSize has three values", kernelSize=(2, 2, 2))
    refused("kernel-zero", "a kernel of 0", kernelSize=(2, 0))
    refused("stride-three", "stride has three values", stride=(2, 2, 2))
    refused("stride-zero", "a stride of 0", stride=(0, 2))
    refused("padding-empty", "padding has no value", padding=())
    refused("padding-beyond-half", "padding is more than half the kernel", kernelSize=(3, 3), padding=(2, 2))
    refused("padding-negative", "negative padding", padding=(0, -1))
    refused("cube-4", "cubeMathType ends at 3", cubeMathType=4)
    refused("cube-negative", "cubeMathType begins at 0", cubeMathType=-1)
    refused("divisor-256", "a divisor beyond 255", divisorOverride=256, product=_INFERENCE)
    refused("divisor-minus-256", "a divisor below -255", divisorOverride=-256, product=_TRAINING)


def _refused_tensors(suite: Suite) -> None:
    refused = suite.refused
    suite.refused_planes()
    refused("dtype-int32", "integers are not pooled", every={"dtype": "int32"})
    for product in (_INFERENCE, _TRAINING):
        why = f"{product} has no bfloat16"
        refused(f"dtype-bfloat16-{product.replace(' ', '-')}", why, every={"dtype": "bfloat16"}, product=product)
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=_A2)
    refused("dtype-of-gradients", "gradOutput and gradInput differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-self", "self and gradInput differ in dtype", self={"dtype": "float16"})
    for format in ("ND", "NHWC", "NC1HWC0"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    refused("format-differs", "self and gradInput differ in format", self={"format": "NCL"})
    refused("ranks-differ", "gradOutput has rank 3, self rank 4", gradOutput={"shape": (3, 4, 4)})
    refused("size-negative", "a negative size", self={"shape": (2, 3, -8, 8)})
    refused("shape-of-output", "gradInput has another shape than self", gradInput={"shape": (2, 3, 8, 9)})
    refused(
        "empty-batch", "empty tensors", gradOutput={"shape": (0, 3, 4, 4)}, self={"shape": (0, 3, 8, 8)}, product=_A2
    )
    refused("empty-channels", "empty tensors", gradOutput={"shape": (2, 0, 4, 4)}, self={"shape": (2, 0, 8, 8)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 4, 4)})
    refused("outside-storage", "the view of gradOutput ends behind its storage", gradOutput={"storage": (2, 3, 4, 3)})


def adaptive_average_suite() -> Suite:
    """aclnnAdaptiveAvgPool3dBackward."""
    small = CaseTensor("float32", (2, 3, 2, 2, 2), "NCDHW")
    large = CaseTensor("float32", (2, 3, 4, 4, 4), "NCDHW")
    suite = Suite("aclnnAdaptiveAvgPool3dBackward", {"gradOutput": small, "self": large, "out": large})
    add = suite.add

    def sizes(out: tuple[int, ...], size: tuple[int, ...], lead: tuple[int, ...] = (2, 3)) -> dict[str, object]:
        return {"gradOutput": {"shape": (*lead, *out)}, "self": {"shape": (*lead, *size)}}

    add("uneven", "windows of different lengths that overlap", **sizes((3, 4, 5), (7, 9, 11)))
    add("upsampling", "more windows than elements on every axis", **sizes((5, 7, 9), (3, 4, 5)))
    add("upsampling-one-axis", "more windows than elements on one axis", **sizes((2, 9, 3), (4, 5, 6)))
    add("global", "one window over all of it", **sizes((1, 1, 1), (3, 5, 7)))
    add("identity", "as many windows as elements", **sizes((3, 5, 7), (3, 5, 7)))
    add("one-element", "the smallest tensors there are", **sizes((1, 1, 1), (1, 1, 1), (1, 1)))
    add("flat", "depth 1 is two-dimensional pooling", **sizes((1, 3, 3), (1, 7, 8)))
    for format in ("NCDHW", "ND"):
        lead = sizes((2, 2, 3), (5, 4, 7), (3,))
        add(f"rank-4-{format}", f"rank 4 is C, D, H, W, in {format}", every={"format": format}, **lead)
    add("ND", "format ND with rank 5", every={"format": "ND"})
    for dtype in ("float16", "bfloat16"):
        add(
            f"dtype-{dtype}",
            f"{dtype} is summed in float32 and rounded once",
            every={"dtype": dtype},
            **sizes((3, 3, 3), (7, 7, 7)),
        )
    add("nan", "NaN reaches its window and nothing else", gradOutput={"values": _NAN})
    channels_last = {"strides": (192, 1, 48, 12, 3), "storage": (384,)}
    add("channels-last", "views whose channels lie side by side", self=channels_last, out=channels_last)
    backwards = {"strides": (-24, -8, -4, -2, -1), "storage": (48,), "offset": 47}
    add("backwards", "gradOutput is read from its end", gradOutput=backwards)
    _adaptive_refusals(suite)
    return suite


def _adaptive_refusals(suite: Suite) -> None:
    refused = suite.refused
    suite.nulls("gradOutput", "self", "out")
    refused("product", "the product does not have the operator", product=_A950)
    refused("int64-size", "a size beyond 64 bits", self={"shape": (2, 3, 4, 4, BEYOND_INT64)})
    refused("rank-3", "rank 3", every={"shape": (4, 4, 4)})
    refused("ranks-differ", "gradOutput has rank 4, self rank 5", gradOutput={"shape": (3, 2, 2, 2)})
    refused("rank-of-output", "out has rank 4, self rank 5", out={"shape": (3, 4, 4, 4)})
    refused("empty-depth", "self has no elements", self={"shape": (2, 3, 0, 4, 4)})
    empty = {"gradOutput": {"shape": (0, 3, 2, 2, 2)}, "self": {"shape": (0, 3, 4, 4, 4)}}
    refused("empty-batch", "self has no elements", product=_A2, **empty)
    refused("shape-of-output", "out has another shape than self", out={"shape": (2, 3, 4, 4, 5)})
    refused("channels-differ", "gradOutput has other channels than self", gradOutput={"shape": (2, 4, 2, 2, 2)})
    refused("empty-gradients", "gradOutput has no elements", gradOutput={"shape": (2, 3, 2, 0, 2)})
    refused("dtype-int64", "integers are not pooled", every={"dtype": "int64"})
    refused("dtype-float64", "no product has float64", every={"dtype": "float64"}, product=_A2)
    refused("dtype-of-gradients", "gradOutput and self differ in dtype", gradOutput={"dtype": "float16"})
    refused("dtype-of-output", "self and out differ in dtype", out={"dtype": "float16"})
    refused("format-of-gradients", "gradOutput and self differ in format", gradOutput={"format": "ND"})
    refused("format-of-output", "self and out differ in format", out={"format": "ND"})
    for format in ("NCHW", "NDHWC"):
        refused(f"format-{format}", f"{format} is not supported", every={"format": format})
    huge = {"gradOutput": {"shape": (2**30, 2**30, 2, 2, 2)}, "self": {"shape": (2**30, 2**30, 4, 4, 4)}}
    refused("huge", "more bytes than 64 bits count", **huge)
    refused("outside-storage", "the view of gradOutput ends behind its storage", gradOutput={"storage": (47,)})
    refused("output-overlaps", "elements of out share memory", out={"strides": (192, 64, 16, 4, 0), "storage": (384,)})
