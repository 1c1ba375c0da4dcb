"""What the document of aclnnMaxPool2dWithMaskBackward says."""

from __future__ import annotations

from document import A2_A3, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas training series")
TRAINING = PRODUCTS[2:]
PLACES = (*A2_A3, NO_PRODUCT)  # on which a mask holds places, unless windows are of one element
FLOATS, LARGE = "gradOutput self gradInput", "self gradInput"
FORMATS = {4: "NCHW ND", 3: "NCHW ND NCL"}
NUMBERS = {"kernelSize": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceilMode": False}
GRADIENTS = {"gradOutput": T((1, 1, 2, 1), values=[0.4757, 0.1726]), "self": T((1, 1, 4, 3), values=[0] * 12)}
RESULT = {"gradInput": T((1, 1, 4, 3))}
ONES_FIRST = [-1] * 32 + [0] * 224
ROUNDED = [0.4755859375, 0.172607421875]  # to float16
# The example beside the document: windows of one element, and two gradients more than its host vector has.
FILE = {
    "gradOutput": T((1, 1, 2, 2), values=[0.4757, 0.1726, 0.5, -0.25]),
    "self": T((1, 1, 4, 3), values=[0] * 12),
    "indices": T((1, 1, 1, 64), "int8", values=[-1] * 32 + [0] * 32),
    **NUMBERS,
    "kernelSize": (1, 1),
    **RESULT,
}
# 65536 x 65536 elements, whose windows are rows.
HUGE = {
    "kernelSize": (1, 2**16),
    "stride": (1, 2**16),
    "gradOutput": {"shape": (1, 1, 2**16, 1)},
    "indices": {"shape": (1, 1, 2**16, 131104)},
    **all_of(LARGE, shape=(1, 1, 2**16, 2**16)),
}


def called(mask: list[int]) -> dict[str, object]:
    return {**GRADIENTS, "indices": T((1, 1, 4, 64), "int8", values=mask), **NUMBERS, **RESULT}


DOCUMENT = Document(
    name="aclnnMaxPool2dWithMaskBackward",
    header="aclnn_max_pool2d_with_indices_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices,
        const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
        const aclIntArray* dilation, bool ceilMode, aclTensor* gradInput""",
    products=PRODUCTS,
    legal={
        "gradOutput": T((2, 3, 4, 4)),
        "self": T((2, 3, 8, 8)),
        "indices": T((2, 3, 4, 64), "int8"),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "dilation": (1, 1),
        "ceilMode": False,
        "gradInput": T((2, 3, 8, 8)),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int8="int8"),
        Legal(TRAINING, FORMATS, float32="float32 float16", int8="int8"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16", int8="int8"),
    ),
    lengths={"kernelSize": (1, 2), "stride": (0, 1, 2), "padding": (1, 2), "dilation": (1, 2)},
    allowed=(
        allowed(
            "an empty batch",
            gradOutput={"shape": (0, 3, 4, 4)},
            indices={"shape": (0, 3, 4, 64)},
            **all_of(LARGE, shape=(0, 3, 8, 8)),
        ),
        allowed("another format of the mask", indices={"format": "NHWC"}),
        allowed("a mask in pieces", indices={"strides": (1536, 512, 128, 2)}),
        allowed("a plane that only bits can tell", on=TRAINING, **HUGE),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""kernelSize-null self-null gradOutput-null kernelSize-length indices-null stride-null padding-null
        dilation-null gradInput-null product handles int64 self-dtype gradOutput-dtype-as-self gradInput-dtype-as-self
        indices-dtype gradOutput-format-as-self gradInput-format-as-self self-format indices-format self-rank NCL-rank
        stride-length padding-length dilation-length kernelSize-positive stride-positive padding-negative padding-half
        dilation-one gradInput-shape-as-self self-dims windows-fit gradOutput-pooled indices-mask plane-size sizes
        gradInput-writable""",
    refused=(
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 2**64)),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=PRODUCTS, **all_of(FLOATS, dtype="float64")),
        refused("self-dtype", "no bfloat16", "self", on=TRAINING, **all_of(FLOATS, dtype="bfloat16")),
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("gradInput-dtype-as-self", "mixed dtypes", gradInput={"dtype": "float16"}),
        refused("indices-dtype", "a mask is of int8", indices={"dtype": "int32"}),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "ND"}),
        refused("gradInput-format-as-self", "mixed formats", gradInput={"format": "ND"}),
        refused("self-format", "a private format", "self", **all_of(FLOATS, format="NC1HWC0")),
        refused("self-format", "NHWC", "self", **all_of(FLOATS, format="NHWC")),
        refused("indices-format", "a private format", indices={"format": "NC1HWC0"}),
        refused("self-rank", "rank 2", gradOutput={"shape": (4, 4)}),
        refused("self-rank", "rank 5", indices={"shape": (1, 2, 3, 4, 64)}),
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
        refused("gradInput-shape-as-self", "shapes differ", gradInput={"shape": (2, 3, 9, 8)}),
        refused("self-dims", "no rows", "self", **all_of(LARGE, shape=(2, 3, 0, 8))),
        refused("self-dims", "no channels", "self", **all_of(LARGE, shape=(2, 0, 8, 8))),
        refused("self-dims", "a negative batch", "self", **all_of(LARGE, shape=(-2, 3, 8, 8))),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9)),
        refused("gradOutput-pooled", "the formula gives 4 x 4", gradOutput={"shape": (2, 3, 5, 4)}),
        refused("gradOutput-pooled", "another batch", gradOutput={"shape": (1, 3, 4, 4)}),
        refused("indices-mask", "the shape of the gradient", indices={"shape": (2, 3, 4, 4)}),
        refused("plane-size", "an index of 32 bits can't name all places", "self", on=PLACES, **HUGE),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "self",
            on=TRAINING,
            kernelSize=(2**56, 1),
            padding=(2**55, 0),
            stride=(2**55, 1),
            gradOutput={"shape": (1, 1, 2, 2**9)},
            indices={"shape": (1, 1, 2**56, 2080)},
            **all_of(LARGE, shape=(1, 1, 2**55, 2**9)),
        ),
    ),
    samples=(
        Sample(
            called([0, 0, 0, 0, 6] + [0] * 251),
            {"gradInput": [0.4757, 0, 0, 0, 0, 0, 0.1726, 0, 0, 0, 0, 0]},
            "the document's program with the mask of its forward pass",
            on=A2_A3,
        ),
        Sample(
            called(ONES_FIRST),
            on=A2_A3,
            status=507015,
            told=("bytes 0 to 3", "output [0, 0, 0, 0]", "the place -1", "expected 0 to 11"),
        ),
        Sample(
            called(ONES_FIRST),
            {"gradInput": [ROUNDED[0], 0, 0, 0, 0, 0, ROUNDED[1], 0, 0, 0, 0, 0]},
            "the document's program, computed in float16",
            on=TRAINING,
        ),
        Sample(
            FILE,
            {"gradInput": [0.4757, 0, 0.1726, 0, 0, 0, 0.5, 0, -0.25, 0, 0, 0]},
            "the example beside the document",
            on=A2_A3,
        ),
        Sample(
            FILE,
            {"gradInput": [ROUNDED[0], 0, ROUNDED[1], 0, 0, 0, 0.5, 0, -0.25, 0, 0, 0]},
            "the example beside the document, computed in float16",
            on=TRAINING,
        ),
    ),
    suite="""empty-batch rank-3-NCL lengths-1 stride-empty strided overlap bits window-1x1 mask-minus-one mask-empty
        mask-zero""",
)
