"""What the document of aclnnAvgPool3d says."""

from __future__ import annotations

from document import MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

INFERENCE = ("Atlas inference series",)
HAVE_IT = ("Atlas A2", "Atlas A3", *INFERENCE, "Ascend 950")
ALL = "self out"
FORMATS = {5: "ND NCDHW", 4: "ND NCDHW NCHW"}

DOCUMENT = Document(
    name="aclnnAvgPool3d",
    header="aclnn_avgpool3d.h",
    signature="""const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
        const aclIntArray* padding, bool ceilMode, bool countIncludePad, int64_t divisorOverride, aclTensor* out""",
    products=HAVE_IT,
    legal={
        "self": T((2, 3, 4, 4, 4), format="ND"),
        "kernelSize": (2, 2, 2),
        "stride": (2, 2, 2),
        "padding": (0, 0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "out": T((2, 3, 2, 2, 2), format="ND"),
    },
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal(INFERENCE, FORMATS, float32="float32 float16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    lengths={"kernelSize": (1, 3), "stride": (0, 1, 3), "padding": (1, 3)},
    allowed=(
        allowed("a divisor of any size", divisorOverride=-(2**63)),
        allowed("padding", padding=(1, 1, 1), out={"shape": (2, 3, 3, 3, 3)}),
        allowed("ceil mode", kernelSize=(3, 3, 3), stride=(3, 2, 2), ceilMode=True),
        allowed("an empty batch", self={"shape": (0, 3, 4, 4, 4)}, out={"shape": (0, 3, 2, 2, 2)}),
        allowed("no channels", self={"shape": (2, 0, 4, 4, 4)}, out={"shape": (2, 0, 2, 2, 2)}),
    ),
    order="""self-null kernelSize-null stride-null padding-null out-null product handles int64 self-dtype
        out-dtype-as-self out-format-as-self self-format self-rank out-rank-as-self NCHW-rank negative-dims
        kernelSize-length padding-length stride-length kernelSize-positive kernelSize-input stride-positive
        padding-negative padding-half out-pooled sizes out-writable""",
    refused=(
        refused("int64", "a kernel beyond 64 bits", kernelSize=(2**63,)),
        refused("int64", "a divisor beyond 64 bits", divisorOverride=-(2**63) - 1),
        refused("self-dtype", "integers are not pooled", "self", **all_of(ALL, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=HAVE_IT, **all_of(ALL, dtype="float64")),
        refused("self-dtype", "bfloat16 is modern", "self", on=INFERENCE, **all_of(ALL, dtype="bfloat16")),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("out-format-as-self", "mixed formats", out={"format": "NCDHW"}),
        refused(
            "self-format",
            "NDHWC can be described otherwise",
            "self",
            told="Describe the same memory as NCDHW: shape (2, 3, 4, 4, 4), strides (192, 1, 48, 12, 3)",
            self={"shape": (2, 4, 4, 4, 3), "format": "NDHWC"},
            out={"shape": (2, 2, 2, 2, 3), "format": "NDHWC"},
        ),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NC1HWC0")),
        refused("self-rank", "rank 3", self={"shape": (4, 4, 4)}),
        refused("self-rank", "rank 6", self={"shape": (1, 2, 3, 4, 4, 4)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 2, 2, 2)}),
        refused("NCHW-rank", "NCHW has four axes", "self", **all_of(ALL, format="NCHW")),
        refused("negative-dims", "a negative size", self={"shape": (2, 3, 4, -4, 4)}),
        refused("negative-dims", "a negative size of the output", out={"shape": (-2, 3, 2, 2, 2)}),
        refused("kernelSize-length", "two values", kernelSize=(2, 2)),
        refused("padding-length", "no value", padding=()),
        refused("stride-length", "two values", stride=(2, 2)),
        refused("kernelSize-positive", "zero", kernelSize=(2, 0, 2)),
        refused(
            "kernelSize-input",
            "larger than the input",
            "kernelSize",
            kernelSize=(2, 5, 2),
            self={"shape": (2, 3, 4, 4, 4)},
        ),
        refused("kernelSize-input", "also where padding makes it fit", "kernelSize", kernelSize=(5,), padding=(2,)),
        refused("kernelSize-input", "no rows", "kernelSize", kernelSize=(2,), self={"shape": (2, 3, 4, 0, 4)}),
        refused("stride-positive", "negative", stride=(-2,)),
        refused("padding-negative", "negative", padding=(0, -1, 0)),
        refused(
            "padding-half", "padding is at most half the kernel", "padding", padding=(0, 0, 2), kernelSize=(3, 3, 3)
        ),
        refused("out-pooled", "the formula gives 2 x 2 x 2", out={"shape": (2, 3, 3, 2, 2)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 2, 2, 2)}),
    ),
    samples=(
        Sample(
            {
                "self": T((1, 16, 4, 4, 4), format="ND", values=[2] * 1024),
                "kernelSize": (4, 4, 4),
                "stride": (1, 1, 1),
                "padding": (0, 0, 0),
                "ceilMode": False,
                "countIncludePad": True,
                "divisorOverride": 0,
                "out": T((1, 16, 1, 1, 1), format="ND"),
            },
            {"out": [2] * 16},
        ),
    ),
    suite="overlap padding ceil ceil-dropped lengths-1 stride-empty rank-4-NCHW empty-batch channels-last",
)
