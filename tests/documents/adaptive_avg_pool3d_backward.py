"""What the document of aclnnAdaptiveAvgPool3dBackward says."""

from __future__ import annotations

from document import NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas inference series", "Atlas training series")
ALL = "gradOutput self out"
FORMATS = {5: "NCDHW ND", 4: "NCDHW ND"}

DOCUMENT = Document(
    name="aclnnAdaptiveAvgPool3dBackward",
    header="aclnn_adaptive_avg_pool3d_backward.h",
    signature="const aclTensor* gradOutput, const aclTensor* self, aclTensor* out",
    products=PRODUCTS,
    legal={
        "gradOutput": T((2, 3, 2, 2, 2), format="NCDHW"),
        "self": T((2, 3, 4, 4, 4), format="NCDHW"),
        "out": T((2, 3, 4, 4, 4), format="NCDHW"),
    },
    combinations=(
        Legal(PRODUCTS, FORMATS, float32="float32 float16 bfloat16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    allowed=(
        allowed("sizes that do not divide", gradOutput={"shape": (2, 3, 3, 4, 1)}),
        allowed("larger than the input", gradOutput={"shape": (2, 3, 5, 9, 7)}),
        allowed(
            "an empty batch",
            on=(NO_PRODUCT,),
            gradOutput={"shape": (0, 3, 2, 2, 2)},
            **all_of("self out", shape=(0, 3, 4, 4, 4)),
        ),
    ),
    alike={"dtype": ALL, "format": ALL},
    order="""gradOutput-null self-null out-null product handles int64 self-rank gradOutput-rank-as-self
        out-rank-as-self self-dims out-shape-as-self gradOutput-NC gradOutput-dims gradOutput-dtype
        gradOutput-dtype-as-self self-dtype-as-out gradOutput-format-as-self self-format-as-out gradOutput-format
        sizes out-writable""",
    refused=(
        refused("self-rank", "rank 3", self={"shape": (4, 4, 4)}),
        refused("self-rank", "rank 6", self={"shape": (1, 2, 3, 4, 4, 4)}),
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 2, 2, 2)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 4, 4, 4)}),
        refused("self-dims", "a size of 0", self={"shape": (2, 3, 0, 4, 4)}),
        refused("self-dims", "a negative size", self={"shape": (2, 3, 4, -4, 4)}),
        refused("self-dims", "a negative batch", self={"shape": (-1, 3, 4, 4, 4)}),
        refused("self-dims", "an empty batch", on=PRODUCTS, self={"shape": (0, 3, 4, 4, 4)}),
        refused("out-shape-as-self", "shapes differ", out={"shape": (2, 3, 4, 4, 5)}),
        refused("gradOutput-NC", "other channels", gradOutput={"shape": (2, 4, 2, 2, 2)}),
        refused("gradOutput-dims", "a size of 0", gradOutput={"shape": (2, 3, 2, 0, 2)}),
        refused("gradOutput-dims", "a negative size", gradOutput={"shape": (2, 3, -2, 2, 2)}),
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int64"}),
        refused("gradOutput-dtype", "all three are looked at", self={"dtype": "bool"}),
        refused("gradOutput-dtype", "and the output", out={"dtype": "int8"}),
        refused(
            "gradOutput-dtype", "float64 is on no product", "gradOutput", on=PRODUCTS, **all_of(ALL, dtype="float64")
        ),
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("self-dtype-as-out", "mixed dtypes", out={"dtype": "float16"}),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "ND"}),
        refused("self-format-as-out", "mixed formats", out={"format": "ND"}),
        refused("gradOutput-format", "NCHW has no depth", "gradOutput", **all_of(ALL, format="NCHW")),
        refused("gradOutput-format", "NDHWC is refused", "gradOutput", **all_of(ALL, format="NDHWC")),
        refused(
            "gradOutput-format",
            "NDHWC can be described otherwise",
            "gradOutput",
            told="Describe the same memory as NCDHW: shape (2, 3, 4, 4, 4), strides (192, 1, 48, 12, 3)",
            **all_of(ALL, shape=(2, 4, 4, 4, 3), format="NDHWC"),
        ),
        refused("sizes", "windows whose positions pass 64 bits", "self", **all_of(ALL, shape=(1, 1, 1, 1, 2**40))),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((2, 2, 1, 1, 2), format="ND", values=[1, 2, 3, 4, 5, 6, 7, 8]),
                "self": T((2, 2, 1, 1, 4), format="ND", values=[1] * 16),
                "out": T((2, 2, 1, 1, 4), format="ND"),
            },
            {"out": [0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3.5, 3.5, 4, 4]},
        ),
    ),
    suite="upsampling rank-4-ND channels-last empty-batch",
)
