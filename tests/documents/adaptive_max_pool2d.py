"""What the document of aclnnAdaptiveMaxPool2d says."""

from __future__ import annotations

from document import A2_A3, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas training series", "Ascend 950")
TRAINING, OTHERS = PRODUCTS[2:3], (*PRODUCTS[:2], *PRODUCTS[3:], NO_PRODUCT)
FLOATS, SMALL, ALL = "self outputOut", "outputOut indicesOut", "self outputOut indicesOut"
FORMATS = {4: "NCHW NHWC", 3: "NCHW NCL"}
LARGE = {"self": {"shape": (1, 1, 2**16, 2**16)}}

DOCUMENT = Document(
    name="aclnnAdaptiveMaxPool2d",
    header="aclnn_adaptive_max_pool2d.h",
    signature="const aclTensor* self, const aclIntArray* outputSize, aclTensor* outputOut, aclTensor* indicesOut",
    products=PRODUCTS,
    legal={
        "self": T((2, 3, 8, 8)),
        "outputSize": (4, 4),
        "outputOut": T((2, 3, 4, 4)),
        "indicesOut": T((2, 3, 4, 4), "int64"),
    },
    combinations=(
        Legal(OTHERS, FORMATS, float32="float64 float32 float16 bfloat16", int64="int64"),
        Legal(TRAINING, FORMATS, float32="float64 float32 float16", int64="int64"),
    ),
    allowed=(
        allowed("sizes that do not divide", outputSize=(3, 5), **all_of(SMALL, shape=(2, 3, 3, 5))),
        allowed("larger than the input", outputSize=(9, 17), **all_of(SMALL, shape=(2, 3, 9, 17))),
        allowed("an empty batch", self={"shape": (0, 3, 8, 8)}, **all_of(SMALL, shape=(0, 3, 4, 4))),
        allowed("other formats of the outputs", outputOut={"format": "ND"}, indicesOut={"format": "NC1HWC0"}),
        allowed(
            "many places, sizes that do not divide", outputSize=(3, 4), **all_of(SMALL, shape=(1, 1, 3, 4)), **LARGE
        ),
    ),
    order="""self-null outputSize-null outputOut-null indicesOut-null product handles int64 self-dtype outputOut-dtype
        outputOut-dtype-as-self indicesOut-dtype self-rank negative-dims indicesOut-shape-as-outputOut self-dims
        outputSize-length outputSize-positive self-format NCL-rank NHWC-rank outputOut-pooled plane-size
        sizes outputOut-writable indicesOut-writable""",
    refused=(
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "no bfloat16", "self", on=TRAINING, **all_of(FLOATS, dtype="bfloat16")),
        refused("outputOut-dtype", "an output of no float type", outputOut={"dtype": "int32"}),
        refused("outputOut-dtype-as-self", "mixed dtypes", outputOut={"dtype": "float16"}),
        refused("indicesOut-dtype", "indices have 64 bits", indicesOut={"dtype": "int32"}),
        refused("self-rank", "rank 2", "self", self={"shape": (8, 8)}, **all_of(SMALL, shape=(4, 4))),
        refused("self-rank", "rank 5", "self", self={"shape": (1, 2, 3, 8, 8)}),
        refused("negative-dims", "a negative batch", "self", self={"shape": (-2, 3, 8, 8)}),
        refused("negative-dims", "a negative size of an output", "outputOut", **all_of(SMALL, shape=(2, 3, -4, 4))),
        refused("indicesOut-shape-as-outputOut", "shapes differ", indicesOut={"shape": (2, 3, 4, 3)}),
        refused("self-dims", "no rows", self={"shape": (2, 3, 0, 8)}),
        refused("self-dims", "no channels of a batch", self={"shape": (2, 0, 8, 8)}),
        refused("self-dims", "no rows, and no batch", self={"shape": (0, 3, 0, 8)}),
        refused("outputSize-length", "one value", outputSize=(4,)),
        refused("outputSize-length", "three values", outputSize=(4, 4, 4)),
        refused("outputSize-positive", "no windows", outputSize=(0, 4)),
        refused("outputSize-positive", "a negative number", outputSize=(4, -4)),
        refused("self-format", "ND", "self", **all_of(ALL, format="ND")),
        refused("self-format", "a private format", self={"format": "NC1HWC0"}),
        refused("NCL-rank", "NCL has three axes", self={"format": "NCL"}),
        refused(
            "NHWC-rank",
            "NHWC has four axes",
            "self",
            self={"shape": (8, 8, 3), "format": "NHWC"},
            **all_of(SMALL, shape=(4, 4, 3), format="NHWC"),
        ),
        refused("outputOut-pooled", "the output has other sizes", "outputOut", **all_of(SMALL, shape=(2, 3, 4, 5))),
        refused("outputOut-pooled", "another batch", "outputOut", **all_of(SMALL, shape=(1, 3, 4, 4))),
        refused(
            "plane-size",
            "an inner operator's limit, where both sizes divide",
            "self",
            on=A2_A3,
            status=561103,
            outputSize=(2, 4),
            **all_of(SMALL, shape=(1, 1, 2, 4)),
            **LARGE,
        ),
    ),
    samples=(
        Sample(
            {
                "self": T((1, 1, 4, 4), values=range(16)),
                "outputSize": (2, 2),
                "outputOut": T((1, 1, 2, 2)),
                "indicesOut": T((1, 1, 2, 2), "int64"),
            },
            {"outputOut": [5, 7, 13, 15], "indicesOut": [5, 7, 13, 15]},
        ),
        Sample(
            {
                "self": T((1, 2, 3, 4), values=range(24)),
                "outputSize": (2, 2),
                "outputOut": T((1, 2, 2, 2)),
                "indicesOut": T((1, 2, 2, 2), "int64"),
            },
            {"outputOut": [5, 7, 9, 11, 17, 19, 21, 23], "indicesOut": [5, 7, 9, 11, 5, 7, 9, 11]},
            why="the example beside it",
        ),
    ),
    suite="uneven upsampling empty-batch rank-3-NCL channels-last NHWC dtype-float64",
)
