"""What the document of aclnnMaxPool3dWithArgmaxBackward says."""

from __future__ import annotations

from document import A2_A3, A950, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

LATEST = (*A950, NO_PRODUCT)
FLOATS, ALL = "gradOutput self gradInput", "gradOutput self indices gradInput"
SMALL, LARGE = "gradOutput indices", "self gradInput"
FORMATS = {5: "ND NCDHW", 4: "ND NCDHW NCHW"}

DOCUMENT = Document(
    name="aclnnMaxPool3dWithArgmaxBackward",
    header="aclnn_max_pool3d_with_argmax_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices,
        const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
        const aclIntArray* dilation, bool ceilMode, aclTensor* gradInput""",
    products=MODERN,
    legal={
        "gradOutput": T((2, 3, 2, 2, 2), format="ND"),
        "self": T((2, 3, 4, 4, 4), format="ND"),
        "indices": T((2, 3, 2, 2, 2), "int32", format="ND"),
        "kernelSize": (2, 2, 2),
        "stride": (2, 2, 2),
        "padding": (0, 0, 0),
        "dilation": (1, 1, 1),
        "ceilMode": False,
        "gradInput": T((2, 3, 4, 4, 4), format="ND"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32"),
        Legal(A950, FORMATS, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    lengths={"kernelSize": (1, 3), "stride": (0, 1, 3), "padding": (1, 3), "dilation": (1, 3)},
    allowed=(
        allowed("an empty batch", **all_of(SMALL, shape=(0, 3, 2, 2, 2)), **all_of(LARGE, shape=(0, 3, 4, 4, 4))),
        allowed("no gradients, whatever the windows are", **all_of(SMALL, shape=(2, 3, 0, 7, 2))),
        allowed("an empty input", **all_of(LARGE, shape=(2, 3, 4, 0, 4))),
        allowed("dilation", on=LATEST, dilation=(2, 2, 3), **all_of(SMALL, shape=(2, 3, 1, 1, 1))),
        allowed("another public format of the indices", indices={"format": "NCDHW"}),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""gradOutput-null self-null indices-null kernelSize-null stride-null padding-null dilation-null
        gradInput-null product handles int64 self-dtype indices-dtype gradOutput-dtype-as-self gradInput-dtype-as-self
        gradOutput-format-as-self gradInput-format-as-self self-format indices-format gradOutput-rank
        gradOutput-rank-as-self NCHW-rank negative-dims kernelSize-length kernelSize-positive stride-length
        stride-positive padding-length padding-negative padding-half dilation-length dilation-one dilation-positive
        plane-size indices-shape-as-gradOutput gradInput-shape-as-self windows-not-empty gradOutput-pooled sizes
        gradInput-writable""",
    refused=(
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 2**64, 1)),
        refused("self-dtype", "integers are not pooled", self={"dtype": "int32"}),
        refused("self-dtype", "float64 is on no product", "self", on=MODERN, **all_of(FLOATS, dtype="float64")),
        refused("indices-dtype", "indices are integers", indices={"dtype": "float32"}),
        refused("indices-dtype", "int64 is on Ascend 950 only", on=A2_A3, indices={"dtype": "int64"}),
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("gradInput-dtype-as-self", "mixed dtypes", gradInput={"dtype": "bfloat16"}),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "NCDHW"}),
        refused("gradInput-format-as-self", "mixed formats", gradInput={"format": "NCDHW"}),
        refused("self-format", "NDHWC is read by nobody", "self", **all_of(ALL, format="NDHWC")),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NC1HWC0")),
        refused("indices-format", "a private format of indices", indices={"format": "FRACTAL_NZ"}),
        refused("gradOutput-rank", "rank 3", gradOutput={"shape": (2, 2, 2)}),
        refused("gradOutput-rank", "rank 6 of indices", indices={"shape": (1, 2, 3, 2, 2, 2)}),
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 2, 2, 2)}),
        refused("NCHW-rank", "NCHW has four axes", "self", **all_of(FLOATS, format="NCHW")),
        refused("negative-dims", "a negative size", "self", **all_of(LARGE, shape=(2, 3, 4, -4, 4))),
        refused("kernelSize-length", "two values", kernelSize=(2, 2)),
        refused("kernelSize-positive", "zero", kernelSize=(0, 2, 2)),
        refused("stride-length", "two values", stride=(2, 2)),
        refused("stride-positive", "negative", stride=(-2, 2, 2)),
        refused("padding-length", "no value", padding=()),
        refused("padding-negative", "negative", padding=(0, -1, 0)),
        refused(
            "padding-half", "padding is at most half the kernel", "padding", padding=(2, 2, 2), kernelSize=(3, 3, 3)
        ),
        refused("dilation-length", "no value", dilation=()),
        refused("dilation-one", "dilation is on Ascend 950 only", on=A2_A3, dilation=(2, 1, 1)),
        refused("dilation-positive", "zero", on=LATEST, dilation=(0, 1, 1)),
        refused("plane-size", "2**31 places", "self", **all_of(LARGE, shape=(1, 1, 2**11, 2**10, 2**10))),
        refused("indices-shape-as-gradOutput", "shapes differ", indices={"shape": (2, 3, 2, 2, 3)}),
        refused("gradInput-shape-as-self", "shapes differ", gradInput={"shape": (2, 3, 4, 5, 4)}),
        refused(
            "windows-not-empty",
            "dilation steps over the whole input",
            "dilation",
            on=LATEST,
            kernelSize=(2, 2, 2),
            padding=(1, 0, 0),
            dilation=(2, 1, 1),
            stride=(1, 2, 2),
            **all_of(LARGE, shape=(2, 3, 1, 4, 4)),
        ),
        refused(
            "gradOutput-pooled", "the formula gives 2 x 2 x 2", "gradOutput", **all_of(SMALL, shape=(2, 3, 3, 2, 2))
        ),
        refused("gradOutput-pooled", "another batch", "gradOutput", **all_of(SMALL, shape=(1, 3, 2, 2, 2))),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            kernelSize=(2**62,),
            padding=(2**61,),
            **all_of(SMALL, shape=(2, 3, 3, 3, 3)),
        ),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 1, 1, 1, 1), format="ND", values=[0.4757]),
                "self": T((1, 1, 2, 2, 2), format="ND", values=[0] * 8),
                "indices": T((1, 1, 1, 1, 1), "int32", format="ND", values=[6]),
                "kernelSize": (2, 2, 2),
                "stride": (2, 2, 2),
                "padding": (0, 0, 0),
                "dilation": (1, 1, 1),
                "ceilMode": False,
                "gradInput": T((1, 1, 2, 2, 2), format="ND"),
            },
            {"gradInput": [0, 0, 0, 0, 0, 0, 0.4757, 0]},
        ),
    ),
    suite="""overlap padding ceil lengths-1 stride-empty dilation-uneven int64 empty-batch empty-gradients rank-4-NCHW
        strided index-beyond-plane indices-drawn indices-astray channels-last""",
)
