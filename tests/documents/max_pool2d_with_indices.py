"""What the document of aclnnMaxPool2dWithIndices says."""

from __future__ import annotations

from document import A2_A3, A950, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Ascend 950")
LATEST = (*A950, NO_PRODUCT)
FLOATS, SMALL = "self out", "out indices"
FORMATS = {4: "NCHW ND", 3: "NCHW ND NCL"}
WITH_NHWC = {4: "NCHW ND NHWC", 3: "NCHW ND NCL NHWC"}
X12 = [0.0850, -0.5147, -0.0212, -0.5654, -0.3222, 0.5847, 1.7510, 0.9954, 0.1842, 0.8392, 0.4835, 0.9213]

DOCUMENT = Document(
    name="aclnnMaxPool2dWithIndices",
    header="aclnn_max_pool2d_with_indices.h",
    signature="""const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
        const aclIntArray* padding, const aclIntArray* dilation, bool ceilMode, aclTensor* out, aclTensor* indices""",
    products=PRODUCTS,
    legal={
        "self": T((2, 3, 8, 8)),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceilMode": False,
        "out": T((2, 3, 4, 4)),
        "indices": T((2, 3, 4, 4), "int32"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal(A950, WITH_NHWC, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), WITH_NHWC, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    lengths={"kernelSize": (1, 2), "stride": (0, 1, 2), "padding": (1, 2), "dilation": (1, 2)},
    allowed=(
        allowed("an empty batch", self={"shape": (0, 3, 8, 8)}, **all_of(SMALL, shape=(0, 3, 4, 4))),
        allowed("dilation", on=LATEST, dilation=(2, 2), **all_of(SMALL, shape=(2, 3, 3, 3))),
        allowed("another format of the indices", indices={"format": "ND"}),
    ),
    order="""self-null kernelSize-null stride-null padding-null dilation-null out-null indices-null product handles
        int64 self-dtype out-dtype-as-self indices-dtype out-format-as-self self-format self-rank NCL-rank
        kernelSize-length stride-length padding-length dilation-length
        kernelSize-positive stride-positive padding-negative padding-half dilation-one
        dilation-positive self-dims windows-fit windows-not-empty out-pooled indices-shape-as-out
        plane-size sizes out-writable indices-writable""",
    refused=(
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 2**64)),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=PRODUCTS, **all_of(FLOATS, dtype="float64")),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("indices-dtype", "indices are integers", indices={"dtype": "float32"}),
        refused("out-format-as-self", "mixed formats", out={"format": "ND"}),
        refused("self-format", "a private format", "self", **all_of(FLOATS, format="NC1HWC0")),
        refused("self-format", "NHWC is on Ascend 950 only", "self", on=A2_A3, **all_of(FLOATS, format="NHWC")),
        refused("self-rank", "rank 2", "self", self={"shape": (8, 8)}, out={"shape": (4, 4)}),
        refused("self-rank", "rank 5", "self", self={"shape": (1, 2, 3, 8, 8)}, out={"shape": (1, 2, 3, 4, 4)}),
        refused("NCL-rank", "NCL has three axes", "self", **all_of(FLOATS, format="NCL")),
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
        refused("self-dims", "no rows", "self", self={"shape": (2, 3, 0, 8)}),
        refused("self-dims", "no channels", "self", self={"shape": (2, 0, 8, 8)}),
        refused("self-dims", "a negative batch", "self", self={"shape": (-2, 3, 8, 8)}),
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
            self={"shape": (2, 3, 1, 8)},
        ),
        refused("out-pooled", "the formula gives 4 x 4", out={"shape": (2, 3, 5, 4)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 4, 4)}),
        refused("indices-shape-as-out", "shapes differ", indices={"shape": (2, 3, 4, 3)}),
        refused(
            "plane-size",
            "an index of 32 bits can't name all places",
            "self",
            on=LATEST,
            kernelSize=(1, 2**16),
            stride=(1, 2**16),
            self={"shape": (1, 1, 2**16, 2**16)},
            **all_of(SMALL, shape=(1, 1, 2**16, 1)),
        ),
        refused(
            "plane-size",
            "an inner operator's limit, whatever the index",
            "self",
            on=A2_A3,
            status=561103,
            kernelSize=(1, 2**16),
            stride=(1, 2**16),
            self={"shape": (1, 1, 2**16, 2**16)},
            out={"shape": (1, 1, 2**16, 1)},
            indices={"shape": (1, 1, 2**16, 1), "dtype": "int64"},
        ),
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
                "self": T((1, 1, 4, 3), values=X12),
                "kernelSize": (2, 2),
                "stride": (2, 2),
                "padding": (0, 0),
                "dilation": (1, 1),
                "ceilMode": False,
                "out": T((1, 1, 2, 1)),
                "indices": T((1, 1, 2, 1), "int32"),
            },
            {"out": [0.0850, 1.7510], "indices": [0, 6]},
        ),
    ),
    suite="empty-batch rank-3-NCL lengths-1 stride-empty strided overlap",
)
