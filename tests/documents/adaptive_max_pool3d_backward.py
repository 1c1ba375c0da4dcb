"""What the document of aclnnAdaptiveMaxPool3dBackward says."""

from __future__ import annotations

from document import A2_A3, A950, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

FLOATS, ALL = "gradOutput self gradInput", "gradOutput self indices gradInput"
SMALL, LARGE = "gradOutput indices", "self gradInput"
FORMATS = {5: "ND NCDHW", 4: "ND NCDHW NCHW"}

DOCUMENT = Document(
    name="aclnnAdaptiveMaxPool3dBackward",
    header="aclnn_adaptive_max_pool3d_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclTensor* indices,
        aclTensor* gradInput""",
    products=MODERN,
    legal={
        "gradOutput": T((2, 3, 2, 2, 2), format="ND"),
        "self": T((2, 3, 4, 4, 4), format="ND"),
        "indices": T((2, 3, 2, 2, 2), "int32", format="ND"),
        "gradInput": T((2, 3, 4, 4, 4), format="ND"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32"),
        Legal(A950, FORMATS, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    allowed=(
        allowed("sizes that do not divide", **all_of(SMALL, shape=(2, 3, 3, 4, 1))),
        allowed("larger than the input", **all_of(SMALL, shape=(2, 3, 5, 9, 7))),
        allowed("an empty batch", **all_of(SMALL, shape=(0, 3, 2, 2, 2)), **all_of(LARGE, shape=(0, 3, 4, 4, 4))),
        allowed("no gradients", **all_of(SMALL, shape=(2, 3, 0, 2, 2))),
        allowed("no gradients, and other channels", **all_of(SMALL, shape=(2, 0, 2, 2, 2))),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""gradOutput-null self-null indices-null gradInput-null product handles int64 gradOutput-dtype-as-self
        gradInput-dtype-as-self self-dtype indices-dtype gradOutput-rank-as-self indices-rank-as-self
        gradInput-rank-as-self gradOutput-shape-as-indices self-shape-as-gradInput negative-dims plane-size
        gradOutput-format-as-self indices-format-as-self gradInput-format-as-self self-format self-rank NCHW-rank
        indices-dtype-of-product gradOutput-NC sizes gradInput-writable""",
    refused=(
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("gradInput-dtype-as-self", "mixed dtypes", gradInput={"dtype": "bfloat16"}),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=MODERN, **all_of(FLOATS, dtype="float64")),
        refused("indices-dtype", "indices have 32 or 64 bits", indices={"dtype": "int16"}),
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 2, 2, 2)}),
        refused("indices-rank-as-self", "ranks differ", indices={"shape": (3, 2, 2, 2)}),
        refused("gradInput-rank-as-self", "ranks differ", gradInput={"shape": (3, 4, 4, 4)}),
        refused("gradOutput-shape-as-indices", "shapes differ", "gradOutput", indices={"shape": (2, 3, 2, 2, 3)}),
        refused("self-shape-as-gradInput", "shapes differ", gradInput={"shape": (2, 3, 4, 4, 5)}),
        refused("negative-dims", "a negative size", "self", **all_of(LARGE, shape=(2, 3, 4, -4, 4))),
        refused("plane-size", "2**31 places", "self", **all_of(LARGE, shape=(1, 1, 2**11, 2**10, 2**10))),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "NCDHW"}),
        refused("indices-format-as-self", "mixed formats", indices={"format": "NCDHW"}),
        refused("gradInput-format-as-self", "mixed formats", gradInput={"format": "NCDHW"}),
        refused("self-format", "NDHWC is read by nobody", "self", **all_of(ALL, format="NDHWC")),
        refused("self-format", "a private format", "self", **all_of(ALL, format="FRACTAL_NZ")),
        refused("self-rank", "rank 3", "self", **all_of(SMALL, shape=(2, 2, 2)), **all_of(LARGE, shape=(4, 4, 4))),
        refused("NCHW-rank", "NCHW has four axes", "self", **all_of(ALL, format="NCHW")),
        refused("indices-dtype-of-product", "int64 is on Ascend 950 only", on=A2_A3, indices={"dtype": "int64"}),
        refused("gradOutput-NC", "other channels", "gradOutput", **all_of(SMALL, shape=(2, 4, 2, 2, 2))),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 1, 1, 1, 1), format="ND", values=[0.4757]),
                "self": T((1, 1, 2, 2, 2), format="ND", values=[0] * 8),
                "indices": T((1, 1, 1, 1, 1), "int32", format="ND", values=[6]),
                "gradInput": T((1, 1, 2, 2, 2), format="ND"),
            },
            {"gradInput": [0, 0, 0, 0, 0, 0, 0.4757, 0]},
        ),
        Sample(
            {
                "gradOutput": T((1, 1, 2, 1, 1), format="ND", values=[0.4757, 0.3232]),
                "self": T((1, 1, 3, 2, 2), format="ND", values=[0] * 12),
                "indices": T((1, 1, 2, 1, 1), "int32", format="ND", values=[6, 10]),
                "gradInput": T((1, 1, 3, 2, 2), format="ND"),
            },
            {"gradInput": [0, 0, 0, 0, 0, 0, 0.4757, 0, 0, 0, 0.3232, 0]},
            why="the example beside it",
        ),
    ),
    suite="uneven upsampling int64 empty-batch empty-gradients rank-4-NCHW channels-last index-beyond-plane",
)
