"""What the document of aclnnAdaptiveMaxPool3d says."""

from __future__ import annotations

from document import A2_A3, A950, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

LATEST = (*A950, NO_PRODUCT)
FLOATS, SMALL, ALL = "self outputOut", "outputOut indicesOut", "self outputOut indicesOut"
FORMATS = {5: "NCDHW NCHW", 4: "NCDHW NCHW"}
WITH_ND = {5: "NCDHW NCHW ND", 4: "NCDHW NCHW ND"}

DOCUMENT = Document(
    name="aclnnAdaptiveMaxPool3d",
    header="aclnn_adaptive_max_pool3d.h",
    signature="const aclTensor* self, const aclIntArray* outputSize, aclTensor* outputOut, aclTensor* indicesOut",
    products=MODERN,
    legal={
        "self": T((2, 3, 8, 8, 8), format="NCDHW"),
        "outputSize": (4, 4, 4),
        "outputOut": T((2, 3, 4, 4, 4), format="NCDHW"),
        "indicesOut": T((2, 3, 4, 4, 4), "int32", format="NCDHW"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32"),
        Legal(A950, WITH_ND, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), WITH_ND, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    allowed=(
        allowed("sizes that do not divide", outputSize=(3, 5, 1), **all_of(SMALL, shape=(2, 3, 3, 5, 1))),
        allowed("larger than the input", outputSize=(9, 17, 8), **all_of(SMALL, shape=(2, 3, 9, 17, 8))),
        allowed("an empty batch", self={"shape": (0, 3, 8, 8, 8)}, **all_of(SMALL, shape=(0, 3, 4, 4, 4))),
        allowed("one value", on=LATEST, outputSize=(4,)),
        allowed("no value", on=LATEST, outputSize=(), **all_of(SMALL, shape=(2, 3, 8, 8, 8))),
        allowed("another format of the indices", indicesOut={"format": "NC1HWC0"}),
    ),
    order="""self-null outputSize-null outputOut-null indicesOut-null product handles int64 self-rank negative-dims
        self-dtype outputOut-dtype indicesOut-dtype self-format outputOut-format-as-self outputSize-length outputOut-NC
        outputOut-sizes indicesOut-shape-as-outputOut outputOut-dtype-as-self self-dims plane-size outputSize-positive
        sizes outputOut-writable indicesOut-writable""",
    refused=(
        refused("self-rank", "rank 3", "self", self={"shape": (8, 8, 8)}, **all_of(SMALL, shape=(4, 4, 4))),
        refused("self-rank", "rank 6 of the output", outputOut={"shape": (1, 2, 3, 4, 4, 4)}),
        refused("self-rank", "rank 3 of the indices", indicesOut={"shape": (4, 4, 4)}),
        refused("negative-dims", "a negative batch", self={"shape": (-2, 3, 8, 8, 8)}),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=MODERN, **all_of(FLOATS, dtype="float64")),
        refused("outputOut-dtype", "an output of no float type", outputOut={"dtype": "int32"}),
        refused("indicesOut-dtype", "indices are integers", indicesOut={"dtype": "float32"}),
        refused("indicesOut-dtype", "int64 is on Ascend 950 only", on=A2_A3, indicesOut={"dtype": "int64"}),
        refused("self-format", "ND is on Ascend 950 only", "self", on=A2_A3, **all_of(ALL, format="ND")),
        refused("self-format", "channels last", "self", **all_of(ALL, format="NDHWC")),
        refused("self-format", "a private format", "self", **all_of(FLOATS, format="NDC1HWC0")),
        refused("outputOut-format-as-self", "mixed formats", outputOut={"format": "NCHW"}),
        refused("outputSize-length", "two values", outputSize=(4, 4)),
        refused("outputSize-length", "one value", on=A2_A3, outputSize=(4,)),
        refused("outputSize-length", "no value", on=A2_A3, outputSize=()),
        refused("outputOut-NC", "another batch", "outputOut", **all_of(SMALL, shape=(1, 3, 4, 4, 4))),
        refused("outputOut-NC", "ranks differ", "outputOut", **all_of(SMALL, shape=(3, 4, 4, 4))),
        refused("outputOut-sizes", "the output has other sizes", "outputOut", **all_of(SMALL, shape=(2, 3, 4, 4, 5))),
        refused("indicesOut-shape-as-outputOut", "shapes differ", indicesOut={"shape": (2, 3, 4, 4, 3)}),
        refused("outputOut-dtype-as-self", "mixed dtypes", outputOut={"dtype": "float16"}),
        refused("self-dims", "no rows", self={"shape": (2, 3, 8, 0, 8)}),
        refused(
            "plane-size",
            "an index can't hold 2**31 places",
            "self",
            self={"shape": (1, 1, 2**11, 2**10, 2**10)},
            **all_of(SMALL, shape=(1, 1, 4, 4, 4)),
        ),
        refused(
            "outputSize-positive", "zero", "outputSize", outputSize=(0, 4, 4), **all_of(SMALL, shape=(2, 3, 0, 4, 4))
        ),
        refused("outputOut-sizes", "no output is what it says", outputSize=(4, -4, 4)),
    ),
    samples=(
        Sample(
            {
                "self": T((1, 1, 1, 4, 4), format="NCDHW", values=[0, 1, 2, 3, 4.1, *range(5, 16)]),
                "outputSize": (1, 2, 2),
                "outputOut": T((1, 1, 1, 2, 2), format="NCDHW"),
                "indicesOut": T((1, 1, 1, 2, 2), "int32", format="NCDHW"),
            },
            {"outputOut": [5, 7, 13, 15], "indicesOut": [5, 7, 13, 15]},
        ),
        Sample(
            {
                "self": T((1, 2, 1, 3, 4), format="NCDHW", values=[0, 1, 2, 3, 4.1, *range(5, 24)]),
                "outputSize": (1, 2, 2),
                "outputOut": T((1, 2, 1, 2, 2), format="NCDHW"),
                "indicesOut": T((1, 2, 1, 2, 2), "int32", format="NCDHW"),
            },
            {"outputOut": [5, 7, 9, 11, 17, 19, 21, 23], "indicesOut": [5, 7, 9, 11, 5, 7, 9, 11]},
            why="the example beside it",
        ),
    ),
    suite="uneven upsampling empty-batch rank-4-NCHW channels-last outputSize-one outputSize-none int64",
)
