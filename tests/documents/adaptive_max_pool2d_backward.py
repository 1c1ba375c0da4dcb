"""What the document of aclnnAdaptiveMaxPool2dBackward says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from document import A2_A3, INVALID, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

FLOATS, ALL = "gradOutput self gradInput", "gradOutput self indices gradInput"
SMALL, LARGE = "gradOutput indices", "self gradInput"
FORMATS = {4: "ND NCHW", 3: "ND NCHW NCL"}
ND = partial(T, format="ND")

# The printed program declares its four bytes of indices as INT64, and its index is none of its plane.
SAMPLE = Sample(
    {
        "gradOutput": ND((1, 1, 1, 1), values=[0.4757]),
        "self": ND((1, 1, 2, 2), values=[0] * 4),
        "indices": ND((1, 1, 1, 1), "int64", values=[6], stored="int32"),
        "gradInput": ND((1, 1, 2, 2)),
    },
    why="phase two must refuse to read eight bytes",
    status=INVALID,
    told=("indices", "bytes 0 to 8 of an allocation of 4 bytes"),
)

DOCUMENT = Document(
    name="aclnnAdaptiveMaxPool2dBackward",
    header="aclnn_adaptive_max_pool2d_backward.h",
    signature="const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices, aclTensor* gradInput",
    products=A2_A3,
    legal={
        "gradOutput": ND((2, 3, 4, 4)),
        "self": ND((2, 3, 8, 8)),
        "indices": ND((2, 3, 4, 4), "int32"),
        "gradInput": ND((2, 3, 8, 8)),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    allowed=(
        allowed("sizes that do not divide", **all_of(SMALL, shape=(2, 3, 3, 5))),
        allowed("larger than the input", **all_of(SMALL, shape=(2, 3, 9, 10))),
        allowed("no gradients", **all_of(SMALL, shape=(2, 3, 0, 4))),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""gradOutput-null self-null indices-null gradInput-null product handles int64 gradOutput-dtype
        gradOutput-dtype-as-self gradInput-dtype-as-self indices-dtype gradOutput-rank-as-self indices-rank-as-self
        gradInput-rank-as-self gradOutput-shape-as-indices self-shape-as-gradInput gradOutput-format-as-self
        indices-format-as-self gradInput-format-as-self self-format self-rank NCL-rank negative-dims gradOutput-NC
        plane-size sizes gradInput-writable""",
    refused=(
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int32"}),
        refused(
            "gradOutput-dtype", "float64 is on no product", "gradOutput", on=A2_A3, **all_of(FLOATS, dtype="float64")
        ),
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("gradInput-dtype-as-self", "mixed dtypes", gradInput={"dtype": "bfloat16"}),
        refused("indices-dtype", "indices are integers of 32 or 64 bits", indices={"dtype": "int16"}),
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 4, 4)}),
        refused("indices-rank-as-self", "ranks differ", indices={"shape": (3, 4, 4)}),
        refused("gradInput-rank-as-self", "ranks differ", gradInput={"shape": (3, 8, 8)}),
        refused("gradOutput-shape-as-indices", "shapes differ", "gradOutput", indices={"shape": (2, 3, 4, 5)}),
        refused("self-shape-as-gradInput", "shapes differ", gradInput={"shape": (2, 3, 8, 9)}),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "NCHW"}),
        refused("indices-format-as-self", "mixed formats", indices={"format": "NCHW"}),
        refused("gradInput-format-as-self", "mixed formats", gradInput={"format": "NCHW"}),
        refused("self-format", "NHWC is refused", "self", **all_of(ALL, format="NHWC")),
        refused("self-format", "a private format", "self", **all_of(ALL, format="FRACTAL_NZ")),
        refused(
            "self-format",
            "NHWC can be described otherwise",
            "self",
            told="Describe the same memory as NCHW: shape (2, 3, 8, 8), ",
            **all_of(ALL, shape=(2, 8, 8, 3), format="NHWC"),
        ),
        refused("self-rank", "rank 2", "self", **all_of(SMALL, shape=(4, 4)), **all_of(LARGE, shape=(8, 8))),
        refused("NCL-rank", "NCL has three axes", "gradOutput", **all_of(ALL, format="NCL")),
        refused("negative-dims", "a negative size", "self", **all_of(LARGE, shape=(2, 3, -8, 8))),
        refused("gradOutput-NC", "other channels", "gradOutput", **all_of(SMALL, shape=(2, 4, 4, 4))),
        refused("plane-size", "2**31 elements in a plane", "self", **all_of(LARGE, shape=(2, 3, 2**16, 2**15))),
    ),
    samples=(
        SAMPLE,
        replace(
            SAMPLE,
            why="with the right type the index is found wrong, when the stream is synchronised",
            call={**SAMPLE.call, "indices": ND((1, 1, 1, 1), "int32", values=[6])},
            status=507015,
            told=("AclNN_Inner_Error(EZ9999)", "indices[0, 0, 0, 0] = 6", "2x2"),
        ),
        Sample(
            {**SAMPLE.call, "indices": ND((1, 1, 1, 1), "int32", values=[3])},
            {"gradInput": [0, 0, 0, 0.4757]},
            why="with an index of the plane",
        ),
    ),
    suite="upsampling int64 empty-batch rank-3-NCL channels-last index-beyond-plane",
)
