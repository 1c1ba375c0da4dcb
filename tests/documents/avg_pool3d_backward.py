"""What the document of aclnnAvgPool3dBackward says."""

from __future__ import annotations

from document import MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

ALL, LARGE = "gradOutput self output", "self output"
FORMATS = {5: "ND NCDHW", 4: "ND NCDHW NCHW"}

DOCUMENT = Document(
    name="aclnnAvgPool3dBackward",
    header="aclnn_avgpool3d_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* kernelSize,
        const aclIntArray* stride, const aclIntArray* padding, bool ceilMode, bool countIncludePad,
        int64_t divisorOverride, aclTensor* output""",
    products=MODERN,
    legal={
        "gradOutput": T((2, 3, 2, 2, 2), format="ND"),
        "self": T((2, 3, 4, 4, 4), format="ND"),
        "kernelSize": (2, 2, 2),
        "stride": (2, 2, 2),
        "padding": (0, 0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "output": T((2, 3, 4, 4, 4), format="ND"),
    },
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    lengths={"kernelSize": (1, 3), "stride": (0, 1, 3), "padding": (1, 3)},
    allowed=(
        allowed("a divisor of any size", divisorOverride=-(2**63)),
        allowed(
            "a kernel beyond the input in ceil mode",
            kernelSize=(5, 2, 2),
            ceilMode=True,
            gradOutput={"shape": (2, 3, 1, 2, 2)},
        ),
        allowed("padding", padding=(1, 1, 1), gradOutput={"shape": (2, 3, 3, 3, 3)}),
        allowed("an empty batch", gradOutput={"shape": (0, 3, 2, 2, 2)}, **all_of(LARGE, shape=(0, 3, 4, 4, 4))),
        allowed("no channels", gradOutput={"shape": (2, 0, 2, 2, 2)}, **all_of(LARGE, shape=(2, 0, 4, 4, 4))),
        allowed("self is never read, so its type may be another one", self={"dtype": "float16"}),
        allowed("nor is its format looked at", self={"format": "NHWC"}),
    ),
    alike={"format": "gradOutput output"},
    order="""gradOutput-null self-null kernelSize-null stride-null padding-null output-null product handles int64
        gradOutput-dtype self-dtype output-dtype gradOutput-dtype-as-output gradOutput-rank self-rank-as-gradOutput
        output-rank-as-gradOutput self-shape-as-output kernelSize-length padding-length stride-length
        gradOutput-format-as-output gradOutput-format NCHW-rank self-format negative-dims kernelSize-positive
        stride-positive padding-half padding-negative self-dims windows-fit gradOutput-pooled sizes output-writable""",
    refused=(
        refused("int64", "a kernel beyond 64 bits", kernelSize=(2**63,)),
        refused("int64", "a divisor beyond 64 bits", divisorOverride=-(2**63) - 1),
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int32"}),
        refused(
            "gradOutput-dtype", "float64 is on no product", "gradOutput", on=MODERN, **all_of(ALL, dtype="float64")
        ),
        refused("self-dtype", "self is looked at, too", self={"dtype": "bool"}),
        refused("output-dtype", "and the output", output={"dtype": "int8"}),
        refused("gradOutput-dtype-as-output", "mixed dtypes", output={"dtype": "float16"}),
        refused("gradOutput-rank", "rank 3", gradOutput={"shape": (2, 2, 2)}),
        refused("self-rank-as-gradOutput", "ranks differ", self={"shape": (3, 4, 4, 4)}),
        refused("output-rank-as-gradOutput", "ranks differ", output={"shape": (3, 4, 4, 4)}),
        refused("self-shape-as-output", "shapes differ", output={"shape": (2, 3, 4, 4, 5)}),
        refused("kernelSize-length", "two values", kernelSize=(2, 2)),
        refused("padding-length", "no value", padding=()),
        refused("stride-length", "two values", stride=(2, 2)),
        refused("gradOutput-format-as-output", "mixed formats", output={"format": "NCDHW"}),
        refused(
            "gradOutput-format",
            "NDHWC can be described otherwise",
            "gradOutput",
            told="Describe the same memory as NCDHW: shape (2, 3, 4, 4, 4), strides (192, 1, 48, 12, 3)",
            **all_of(ALL, shape=(2, 4, 4, 4, 3), format="NDHWC"),
        ),
        refused("gradOutput-format", "a private format", "gradOutput", **all_of("gradOutput output", format="NC1HWC0")),
        refused("NCHW-rank", "NCHW has four axes", "gradOutput", **all_of("gradOutput output", format="NCHW")),
        refused("self-format", "a private format of self", self={"format": "NDC1HWC0"}),
        refused("negative-dims", "a negative size", "self", **all_of(LARGE, shape=(2, 3, 4, -4, 4))),
        refused("kernelSize-positive", "zero", kernelSize=(2, 0, 2)),
        refused("stride-positive", "negative", stride=(-2,)),
        refused(
            "padding-half", "padding is at most half the kernel", "padding", padding=(0, 0, 2), kernelSize=(3, 3, 3)
        ),
        refused("padding-negative", "negative", padding=(0, -1, 0)),
        refused("self-dims", "no rows", "self", **all_of(LARGE, shape=(2, 3, 4, 0, 4))),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9, 9)),
        refused("gradOutput-pooled", "the formula gives 2 x 2 x 2", gradOutput={"shape": (2, 3, 3, 2, 2)}),
        refused("gradOutput-pooled", "another batch", gradOutput={"shape": (1, 3, 2, 2, 2)}),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            kernelSize=(2**62,),
            padding=(2**61,),
            gradOutput={"shape": (2, 3, 3, 3, 3)},
        ),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 16, 1, 1, 1), format="ND", values=[1] * 16),
                "self": T((1, 16, 4, 4, 4), format="ND", values=[1] * 1024),
                "kernelSize": (4, 4, 4),
                "stride": (1, 1, 1),
                "padding": (0, 0, 0),
                "ceilMode": False,
                "countIncludePad": False,
                "divisorOverride": 0,
                "output": T((1, 16, 4, 4, 4), format="ND"),
            },
            {"output": [0.015625] * 1024},
        ),
    ),
    suite="""overlap padding ceil ceil-dropped lengths-1 stride-empty rank-4-NCHW empty-batch channels-last
        format-of-self""",
)
