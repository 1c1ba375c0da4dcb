"""What the document of aclnnAdaptiveAvgPool2d says."""

from __future__ import annotations

from document import CLASSIC, MODERN, NO_PRODUCT, PRODUCTS, Document, Legal, Sample, T, all_of, allowed, refused

ALL = "self out"
HAVE_IT = PRODUCTS[:5]
FORMATS = {4: "NCHW", 3: "NCL"}

DOCUMENT = Document(
    name="aclnnAdaptiveAvgPool2d",
    header="aclnn_adaptive_avg_pool2d.h",
    signature="const aclTensor* self, const aclIntArray* outputSize, aclTensor* out",
    products=HAVE_IT,
    legal={"self": T((2, 3, 8, 8)), "outputSize": (4, 4), "out": T((2, 3, 4, 4))},
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal(CLASSIC, FORMATS, float32="float32 float16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    allowed=(
        allowed("sizes that do not divide", outputSize=(3, 5), out={"shape": (2, 3, 3, 5)}),
        allowed("larger than the input", outputSize=(9, 17), out={"shape": (2, 3, 9, 17)}),
        allowed("an empty batch", self={"shape": (0, 3, 8, 8)}, out={"shape": (0, 3, 4, 4)}),
    ),
    order="""self-null outputSize-null out-null product handles int64 self-rank out-rank-as-self out-NC self-dims
        self-dtype out-dtype out-dtype-as-self out-format-as-self self-format rank-format outputSize-length
        outputSize-positive out-pooled sizes out-writable""",
    refused=(
        refused("int64", "an output size beyond 64 bits", outputSize=(2**63, 4)),
        refused("self-rank", "rank 5", "self", self={"shape": (1, 2, 3, 8, 8)}, out={"shape": (1, 2, 3, 4, 4)}),
        refused("self-rank", "rank 2", self={"shape": (8, 8)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 4, 4)}),
        refused("out-NC", "another batch", out={"shape": (1, 3, 4, 4)}),
        refused("out-NC", "other channels", out={"shape": (2, 4, 4, 4)}),
        refused("self-dims", "no rows", self={"shape": (2, 3, 0, 8)}),
        refused("self-dims", "no channels", "self", self={"shape": (2, 0, 8, 8)}, out={"shape": (2, 0, 4, 4)}),
        refused("self-dims", "a negative size", self={"shape": (2, 3, -8, 8)}),
        refused("self-dims", "no rows of the output", out={"shape": (2, 3, 0, 4)}),
        refused("self-dims", "a negative batch", "self", self={"shape": (-2, 3, 8, 8)}, out={"shape": (-2, 3, 4, 4)}),
        refused("self-dtype", "integers are not pooled", self={"dtype": "int32"}),
        refused("self-dtype", "bfloat16 is modern", "self", on=CLASSIC, **all_of(ALL, dtype="bfloat16")),
        refused("self-dtype", "float64 is on no product", "self", on=HAVE_IT, **all_of(ALL, dtype="float64")),
        refused("out-dtype", "the output is looked at, too", out={"dtype": "bool"}),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("out-format-as-self", "mixed formats", out={"format": "ND"}),
        refused("self-format", "ND is refused", "self", **all_of(ALL, format="ND")),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NC1HWC0")),
        refused(
            "self-format",
            "NHWC can be described otherwise",
            "self",
            told="Describe the same memory as NCHW: shape (2, 3, 8, 8), strides (192, 1, 24, 3)",
            self={"shape": (2, 8, 8, 3), "format": "NHWC"},
            out={"shape": (2, 8, 4, 3), "format": "NHWC"},
        ),
        refused("rank-format", "NCL has three axes", "self", **all_of(ALL, format="NCL")),
        refused("rank-format", "NCHW has four axes", "self", self={"shape": (3, 8, 8)}, out={"shape": (3, 4, 4)}),
        refused("outputSize-length", "one value", outputSize=(4,), told="Pass one for H and one for W."),
        refused("outputSize-length", "three values", outputSize=(4, 4, 4)),
        refused("outputSize-positive", "zero", outputSize=(0, 4)),
        refused("outputSize-positive", "negative", outputSize=(4, -4)),
        refused("out-pooled", "another output size", "out", outputSize=(4, 5)),
        refused("out-pooled", "another shape", out={"shape": (2, 3, 5, 4)}),
        refused(
            "sizes",
            "windows whose positions pass 64 bits",
            "self",
            outputSize=(1, 2**40),
            **all_of(ALL, shape=(1, 1, 1, 2**40)),
        ),
    ),
    samples=(
        Sample(
            {"self": T((2, 2, 3, 3), values=range(1, 37)), "outputSize": (2, 2), "out": T((2, 2, 2, 2))},
            {"out": [3, 4, 6, 7, 12, 13, 15, 16, 21, 22, 24, 25, 30, 31, 33, 34]},
        ),
    ),
    suite="upsampling rank-3-NCL channels-last empty-batch empty-rows shape-of-output",
)
