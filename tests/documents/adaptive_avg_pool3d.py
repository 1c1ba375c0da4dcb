"""What the document of aclnnAdaptiveAvgPool3d says."""

from __future__ import annotations

from document import MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

INFERENCE = ("Atlas inference series",)
HAVE_IT = ("Atlas A2", "Atlas A3", *INFERENCE, "Ascend 950")
ALL = "self out"
FORMATS = {5: "ND NCDHW", 4: "ND NCDHW NCHW"}
EMPTY_BATCH = {"self": {"shape": (0, 3, 4, 4, 4)}, "out": {"shape": (0, 3, 2, 2, 2)}}

DOCUMENT = Document(
    name="aclnnAdaptiveAvgPool3d",
    header="aclnn_adaptive_avg_pool3d.h",
    signature="const aclTensor* self, const aclIntArray* outputSize, aclTensor* out",
    products=HAVE_IT,
    legal={
        "self": T((2, 3, 4, 4, 4), format="ND"),
        "outputSize": (2, 2, 2),
        "out": T((2, 3, 2, 2, 2), format="ND"),
    },
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal(INFERENCE, FORMATS, float32="float32 float16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    allowed=(
        allowed("sizes that do not divide", outputSize=(3, 2, 1), out={"shape": (2, 3, 3, 2, 1)}),
        allowed("larger than the input", outputSize=(5, 4, 9), out={"shape": (2, 3, 5, 4, 9)}),
        allowed("an empty batch", on=(*MODERN, NO_PRODUCT), **EMPTY_BATCH),
    ),
    order="""self-null outputSize-null out-null product handles int64 self-rank out-rank-as-self self-dims out-NC
        out-dims self-dtype out-dtype out-dtype-as-self out-format-as-self self-format NCHW-rank outputSize-length
        outputSize-positive out-pooled sizes out-writable""",
    refused=(
        refused("int64", "an output size beyond 64 bits", outputSize=(2**63, 4, 4)),
        refused("self-rank", "rank 3", "self", self={"shape": (4, 4, 4)}, out={"shape": (2, 2, 2)}),
        refused("self-rank", "rank 6", self={"shape": (1, 2, 3, 4, 4, 4)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 2, 2, 2)}),
        refused("self-dims", "no rows", self={"shape": (2, 3, 4, 0, 4)}),
        refused("self-dims", "no channels", "self", self={"shape": (2, 0, 4, 4, 4)}, out={"shape": (2, 0, 2, 2, 2)}),
        refused("self-dims", "a negative size", self={"shape": (2, 3, 4, -4, 4)}),
        refused("self-dims", "an empty batch", "self", on=INFERENCE, **EMPTY_BATCH),
        refused("out-NC", "another batch", out={"shape": (1, 3, 2, 2, 2)}),
        refused("out-NC", "other channels", out={"shape": (2, 4, 2, 2, 2)}),
        refused("out-dims", "no rows of the output", out={"shape": (2, 3, 2, 0, 2)}),
        refused("self-dtype", "integers are not pooled", self={"dtype": "int32"}),
        refused("self-dtype", "bfloat16 is modern", "self", on=INFERENCE, **all_of(ALL, dtype="bfloat16")),
        refused("self-dtype", "float64 is on no product", "self", on=HAVE_IT, **all_of(ALL, dtype="float64")),
        refused("out-dtype", "the output is looked at, too", out={"dtype": "bool"}),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("out-format-as-self", "mixed formats", out={"format": "NCDHW"}),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NC1HWC0")),
        refused(
            "self-format",
            "NDHWC can be described otherwise",
            "self",
            told="Describe the same memory as NCDHW: shape (2, 3, 4, 4, 4), strides (192, 1, 48, 12, 3)",
            self={"shape": (2, 4, 4, 4, 3), "format": "NDHWC"},
            out={"shape": (2, 4, 2, 2, 3), "format": "NDHWC"},
        ),
        refused("NCHW-rank", "NCHW has four axes", "self", **all_of(ALL, format="NCHW")),
        refused("outputSize-length", "one value", outputSize=(2,)),
        refused("outputSize-length", "two values", outputSize=(2, 2)),
        refused("outputSize-positive", "zero", outputSize=(2, 0, 2)),
        refused("out-pooled", "another output size", "out", outputSize=(2, 2, 3)),
        refused("out-pooled", "another shape", out={"shape": (2, 3, 2, 2, 1)}),
        refused(
            "sizes",
            "windows whose positions pass 64 bits",
            "self",
            outputSize=(1, 1, 2**40),
            **all_of(ALL, shape=(1, 1, 1, 1, 2**40)),
        ),
    ),
    samples=(
        Sample(
            {
                "self": T((2, 1, 2, 2, 4), format="ND", values=[*range(1, 17)] * 2),
                "outputSize": (2, 2, 2),
                "out": T((2, 1, 2, 2, 2), format="ND"),
            },
            {"out": [1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5] * 2},
        ),
    ),
    suite="upsampling rank-4-NCHW channels-last empty-batch-Ascend910B empty-depth shape-of-output",
)
