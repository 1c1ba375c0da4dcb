"""What the document of aclnnMaxPool2dWithMask says."""

from __future__ import annotations

from document import A2_A3, A950, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas inference series", "Atlas training series")
INFERENCE, TRAINING = PRODUCTS[2:3], PRODUCTS[3:4]
PLACES = (*A2_A3, NO_PRODUCT)  # on which a mask holds places, unless windows are of one element
FLOATS = "self out"
FORMATS = {4: "NCHW ND", 3: "NCHW ND NCL"}
X12 = [0.0850, -0.5147, -0.0212, -0.5654, -0.3222, 0.5847, 1.7510, 0.9954, 0.1842, 0.8392, 0.4835, 0.9213]
SAMPLE = {
    "self": T((1, 1, 4, 3), values=X12),
    "kernelSize": (2, 2),
    "stride": (2, 2),
    "padding": (0, 0),
    "dilation": (1, 1),
    "ceilMode": False,
    "out": T((1, 1, 2, 1)),
    "indices": T((1, 1, 4, 64), "int8"),
}
BITS = [1, 0, 1] + [0] * 253
# 65536 x 65536 elements, whose windows are rows.
LARGE = {
    "kernelSize": (1, 2**16),
    "stride": (1, 2**16),
    "self": {"shape": (1, 1, 2**16, 2**16)},
    "out": {"shape": (1, 1, 2**16, 1)},
    "indices": {"shape": (1, 1, 2**16, 131104)},
}

DOCUMENT = Document(
    name="aclnnMaxPool2dWithMask",
    header="aclnn_max_pool2d_with_indices.h",
    signature="""const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
        const aclIntArray* padding, const aclIntArray* dilation, bool ceilMode, aclTensor* out, aclTensor* indices""",
    products=PRODUCTS,
    refused_first=A950,
    legal={
        "self": T((2, 3, 8, 8)),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceilMode": False,
        "out": T((2, 3, 4, 4)),
        "indices": T((2, 3, 4, 64), "int8"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int8="int8"),
        Legal(TRAINING, FORMATS, float32="float32 float16", int8="int8"),
        Legal(INFERENCE, FORMATS, float32="float32", int8="int8"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16", int8="int8"),
    ),
    lengths={"kernelSize": (1, 2), "stride": (0, 1, 2), "padding": (1, 2), "dilation": (1, 2)},
    allowed=(
        allowed(
            "an empty batch",
            self={"shape": (0, 3, 8, 8)},
            out={"shape": (0, 3, 4, 4)},
            indices={"shape": (0, 3, 4, 64)},
        ),
        allowed("another format of the mask", indices={"format": "NC1HWC0"}),
        allowed(
            "a ceil mode whose last window is dropped",
            kernelSize=(2, 2),
            stride=(3, 3),
            padding=(1, 1),
            ceilMode=True,
            self={"shape": (2, 3, 4, 4)},
            out={"shape": (2, 3, 2, 2)},
        ),
        allowed("a plane that only bits can tell", on=(*INFERENCE, *TRAINING), **LARGE),
    ),
    order="""kernelSize-null self-null out-null kernelSize-length product-950 stride-null padding-null dilation-null
        indices-null product handles int64 self-dtype out-dtype-as-self indices-dtype out-format-as-self self-format
        self-rank NCL-rank stride-length padding-length dilation-length kernelSize-positive stride-positive
        padding-negative padding-half dilation-one self-dims windows-fit out-pooled indices-mask indices-contiguous
        plane-size sizes out-writable indices-writable""",
    refused=(
        refused("product-950", "Ascend 950 lacks the operator", "product", on=A950),
        refused("product-950", "which decides before later null pointers", "product", on=A950, stride=None),
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 2**64)),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=PRODUCTS, **all_of(FLOATS, dtype="float64")),
        refused("self-dtype", "no bfloat16", "self", on=TRAINING, **all_of(FLOATS, dtype="bfloat16")),
        refused("self-dtype", "no float16", "self", on=INFERENCE, **all_of(FLOATS, dtype="float16")),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("indices-dtype", "a mask is of int8", indices={"dtype": "uint8"}),
        refused("out-format-as-self", "mixed formats", out={"format": "ND"}),
        refused("self-format", "a private format", "self", **all_of(FLOATS, format="NC1HWC0")),
        refused("self-format", "NHWC", "self", **all_of(FLOATS, format="NHWC")),
        refused("self-rank", "rank 2", "self", self={"shape": (8, 8)}, out={"shape": (4, 4)}),
        refused("self-rank", "rank 5", "self", self={"shape": (1, 2, 3, 8, 8)}, out={"shape": (1, 2, 3, 4, 4)}),
        refused("NCL-rank", "NCL has three axes", "self", **all_of(FLOATS, format="NCL")),
        refused("kernelSize-length", "no value", kernelSize=()),
        refused("kernelSize-length", "before later null pointers", "kernelSize", kernelSize=(2, 2, 2), indices=None),
        refused("stride-length", "three values", stride=(2, 2, 2)),
        refused("padding-length", "three values", padding=(0, 0, 0)),
        refused("dilation-length", "no value", dilation=()),
        refused("kernelSize-positive", "zero", kernelSize=(0, 2)),
        refused("stride-positive", "negative", stride=(-2, 2)),
        refused("padding-negative", "negative", padding=(0, -1)),
        refused("padding-half", "padding is at most half the kernel", "padding", padding=(2, 2), kernelSize=(3, 3)),
        refused("dilation-one", "dilation is 1 only", dilation=(2, 1)),
        refused("self-dims", "no rows", "self", self={"shape": (2, 3, 0, 8)}),
        refused("self-dims", "no channels", "self", self={"shape": (2, 0, 8, 8)}),
        refused("self-dims", "a negative batch", "self", self={"shape": (-2, 3, 8, 8)}),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9)),
        refused("out-pooled", "the formula gives 4 x 4", out={"shape": (2, 3, 5, 4)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 4, 4)}),
        refused("indices-mask", "too short", indices={"shape": (2, 3, 4, 32)}),
        refused("indices-mask", "the shape of the output", indices={"shape": (2, 3, 4, 4)}),
        refused("indices-contiguous", "every second byte", indices={"strides": (1536, 512, 128, 2)}),
        refused("plane-size", "an index of 32 bits can't name all places", "self", on=PLACES, **LARGE),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "self",
            on=(*INFERENCE, *TRAINING),
            kernelSize=(2**56, 1),
            padding=(2**55, 0),
            stride=(2**55, 1),
            self={"shape": (1, 1, 2**55, 2**9)},
            out={"shape": (1, 1, 2, 2**9)},
            indices={"shape": (1, 1, 2**56, 2080)},
        ),
    ),
    samples=(
        Sample(SAMPLE, {"out": [0.0850, 1.7510], "indices": [0, 0, 0, 0, 6] + [0] * 251}, on=A2_A3),
        Sample(SAMPLE, {"out": [0.0850, 1.7510], "indices": BITS}, "its mask holds bits", on=INFERENCE),
        Sample(
            SAMPLE,
            {"out": [0.08502197265625, 1.7509765625], "indices": BITS},
            "computed in float16, its mask holds bits",
            on=TRAINING,
        ),
    ),
    suite="empty-batch rank-3-NCL lengths-1 stride-empty strided overlap bits window-1x1 mask-not-contiguous",
)
