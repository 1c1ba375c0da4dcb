"""What the document of aclnnMaxPool2dWithIndicesBackward says."""

from __future__ import annotations

from document import A2_A3, A950, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Ascend 950")
LATEST = (*A950, NO_PRODUCT)
FLOATS, ALL = "gradOutput self gradInput", "gradOutput self indices gradInput"
SMALL, LARGE = "gradOutput indices", "self gradInput"
WITH_NHWC = {4: "NCHW ND NHWC", 3: "NCHW ND NCL NHWC"}

DOCUMENT = Document(
    name="aclnnMaxPool2dWithIndicesBackward",
    header="aclnn_max_pool2d_with_indices_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices,
        const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
        const aclIntArray* dilation, bool ceilMode, aclTensor* gradInput""",
    products=PRODUCTS,
    legal={
        "gradOutput": T((2, 3, 4, 4)),
        "self": T((2, 3, 8, 8)),
        "indices": T((2, 3, 4, 4), "int32"),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceilMode": False,
        "gradInput": T((2, 3, 8, 8)),
    },
    combinations=(
        Legal(A2_A3, {4: "NCHW ND", 3: "NCHW ND NCL"}, float32="float32", int32="int32"),
        Legal(A950, WITH_NHWC, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), WITH_NHWC, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    lengths={"kernelSize": (1, 2), "stride": (0, 1, 2), "padding": (1, 2), "dilation": (1, 2)},
    allowed=(
        allowed("an empty batch", **all_of(SMALL, shape=(0, 3, 4, 4)), **all_of(LARGE, shape=(0, 3, 8, 8))),
        allowed("dilation", on=LATEST, dilation=(2, 2), **all_of(SMALL, shape=(2, 3, 3, 3))),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""gradOutput-null self-null indices-null kernelSize-null stride-null padding-null dilation-null
        gradInput-null product handles int64 gradOutput-dtype gradOutput-dtype-as-self gradInput-dtype-as-self
        indices-dtype self-format gradOutput-format-as-self indices-format-as-self gradInput-format-as-self
        gradOutput-rank NCL-rank kernelSize-length stride-length padding-length dilation-length kernelSize-positive
        stride-positive padding-negative padding-half dilation-one dilation-positive gradInput-shape-as-self
        self-dims windows-fit windows-not-empty gradOutput-pooled indices-shape-as-gradOutput sizes
        gradInput-writable""",
    refused=(
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 2**64)),
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int32"}),
        refused(
            "gradOutput-dtype",
            "halves are on Ascend 950 only",
            "gradOutput",
            on=A2_A3,
            **all_of(FLOATS, dtype="float16"),
        ),
        refused(
            "gradOutput-dtype", "float64 is on no product", "gradOutput", on=PRODUCTS, **all_of(FLOATS, dtype="float64")
        ),
        refused("gradOutput-dtype-as-self", "mixed dtypes", on=LATEST, gradOutput={"dtype": "float16"}),
        refused("gradInput-dtype-as-self", "mixed dtypes", on=LATEST, gradInput={"dtype": "bfloat16"}),
        refused("indices-dtype", "indices are integers", indices={"dtype": "float32"}),
        refused("indices-dtype", "int64 is on Ascend 950 only", on=A2_A3, indices={"dtype": "int64"}),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NC1HWC0")),
        refused("self-format", "no layout at all", "self", **all_of(ALL, format="UNDEFINED")),
        refused("self-format", "NHWC is on Ascend 950 only", "self", on=A2_A3, **all_of(ALL, format="NHWC")),
        refused(
            "self-format",
            "NHWC can be described otherwise",
            "self",
            on=A2_A3,
            told="Choose Ascend 950, which takes NHWC, or describe the same memory as NCHW: ",
            **all_of(ALL, shape=(2, 8, 8, 3), format="NHWC"),
        ),
        refused(
            "self-format",
            "NHWC of rank 2",
            "self",
            on=A2_A3,
            told="Choose Ascend 950, which takes NHWC. [",
            **all_of(ALL, shape=(8, 3), format="NHWC"),
        ),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "ND"}),
        refused("indices-format-as-self", "mixed formats", indices={"format": "ND"}),
        refused("gradInput-format-as-self", "mixed formats", gradInput={"format": "ND"}),
        refused("gradOutput-rank", "rank 2", gradOutput={"shape": (4, 4)}),
        refused("gradOutput-rank", "rank 5", indices={"shape": (1, 2, 3, 4, 4)}),
        refused("NCL-rank", "NCL has three axes", "gradOutput", **all_of(ALL, format="NCL")),
        refused("kernelSize-length", "no value", kernelSize=()),
        refused("stride-length", "three values", stride=(2, 2, 2)),
        refused("padding-length", "three values", padding=(0, 0, 0)),
        refused("dilation-length", "no value", dilation=()),
        refused("kernelSize-positive", "zero", kernelSize=(0, 2)),
        refused("stride-positive", "negative", stride=(-2, 2)),
        refused("padding-negative", "negative", padding=(0, -1)),
        refused("padding-half", "padding is at most half the kernel", "padding", padding=(2, 2), kernelSize=(3, 3)),
        refused("dilation-one", "dilation is on Ascend 950 only", on=A2_A3, dilation=(2, 1)),
        refused("dilation-positive", "zero", on=LATEST, dilation=(0, 1)),
        refused("gradInput-shape-as-self", "shapes differ", gradInput={"shape": (2, 3, 9, 8)}),
        refused("self-dims", "no rows", "self", **all_of(LARGE, shape=(2, 3, 0, 8))),
        refused("self-dims", "no channels", "self", **all_of(LARGE, shape=(2, 0, 8, 8))),
        refused("self-dims", "a negative batch", "self", **all_of(LARGE, shape=(-2, 3, 8, 8))),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9)),
        refused(
            "windows-not-empty",
            "dilation steps over the whole input",
            "dilation",
            on=LATEST,
            kernelSize=(2, 2),
            padding=(1, 0),
            dilation=(2, 1),
            stride=(1, 2),
            **all_of(LARGE, shape=(2, 3, 1, 8)),
        ),
        refused("gradOutput-pooled", "the formula gives 4 x 4", gradOutput={"shape": (2, 3, 5, 4)}),
        refused("gradOutput-pooled", "another batch", gradOutput={"shape": (1, 3, 4, 4)}),
        refused("indices-shape-as-gradOutput", "shapes differ", indices={"shape": (2, 3, 4, 3)}),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            kernelSize=(2**62,),
            padding=(2**61,),
            **all_of(SMALL, shape=(2, 3, 5, 5)),
        ),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 1, 2, 1), values=[0.4757, 0.1726]),
                "self": T((1, 1, 4, 3), values=[0] * 12),
                "indices": T((1, 1, 2, 1), "int32", values=[0, 6]),
                "kernelSize": (2, 2),
                "stride": (2, 2),
                "padding": (0, 0),
                "dilation": (1, 1),
                "ceilMode": False,
                "gradInput": T((1, 1, 4, 3)),
            },
            {"gradInput": [0.4757, 0, 0, 0, 0, 0, 0.1726, 0, 0, 0, 0, 0]},
        ),
    ),
    suite="""NHWC-rank-4 dilation-2 int64 empty-batch rank-3-NCL lengths-1 stride-empty strided index-beyond-plane
        indices-drawn overlap""",
)
