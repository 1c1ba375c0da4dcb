"""What the document of aclnnAdaptiveAvgPool2dBackward says."""

from __future__ import annotations

from document import CLASSIC, MODERN, NO_PRODUCT, PRODUCTS, Document, Legal, Sample, T, all_of, allowed, refused

ALL, LARGE = "gradOutput self out", "self out"
HAVE_IT = PRODUCTS[:5]
FORMATS = {4: "NCHW NCL ND", 3: "NCHW NCL ND"}

DOCUMENT = Document(
    name="aclnnAdaptiveAvgPool2dBackward",
    header="aclnn_adaptive_avg_pool2d_backward.h",
    signature="const aclTensor* gradOutput, const aclTensor* self, aclTensor* out",
    products=HAVE_IT,
    legal={"gradOutput": T((2, 3, 4, 4)), "self": T((2, 3, 8, 8)), "out": T((2, 3, 8, 8))},
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal(CLASSIC, FORMATS, float32="float32 float16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    allowed=(
        allowed("sizes that do not divide", gradOutput={"shape": (2, 3, 3, 5)}),
        allowed("larger than the input", gradOutput={"shape": (2, 3, 9, 17)}),
        allowed("an empty batch", gradOutput={"shape": (0, 3, 4, 4)}, **all_of(LARGE, shape=(0, 3, 8, 8))),
        allowed("no channels", gradOutput={"shape": (2, 0, 4, 4)}, **all_of(LARGE, shape=(2, 0, 8, 8))),
        allowed("no gradients", gradOutput={"shape": (2, 3, 0, 4)}),
        allowed("no rows", **all_of(LARGE, shape=(2, 3, 0, 8))),
        allowed("another public format of the output", out={"format": "ND"}),
    ),
    alike={"dtype": ALL},
    order="""gradOutput-null self-null out-null product handles int64 gradOutput-rank-as-self negative-dims out-rank
        out-rank-as-self out-NC gradOutput-NC out-shape-as-self gradOutput-dtype gradOutput-dtype-as-self
        out-dtype-as-self gradOutput-format-as-self gradOutput-format out-format sizes out-writable""",
    refused=(
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 4, 4)}),
        refused("negative-dims", "a negative size", self={"shape": (2, 3, -8, 8)}),
        refused("negative-dims", "a negative size of gradients", gradOutput={"shape": (2, 3, 4, -4)}),
        refused("out-rank", "rank 5", out={"shape": (1, 2, 3, 8, 8)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 8, 8)}),
        refused("out-NC", "another batch", out={"shape": (1, 3, 8, 8)}),
        refused("gradOutput-NC", "other channels", gradOutput={"shape": (2, 4, 4, 4)}),
        refused("out-shape-as-self", "as many elements in other rows", out={"shape": (2, 3, 4, 16)}),
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int32"}),
        refused("gradOutput-dtype", "self is looked at, too", self={"dtype": "bool"}),
        refused("gradOutput-dtype", "bfloat16 is modern", "gradOutput", on=CLASSIC, **all_of(ALL, dtype="bfloat16")),
        refused(
            "gradOutput-dtype", "float64 is on no product", "gradOutput", on=HAVE_IT, **all_of(ALL, dtype="float64")
        ),
        refused("gradOutput-dtype-as-self", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("gradOutput-format-as-self", "mixed formats", gradOutput={"format": "ND"}),
        refused(
            "gradOutput-format",
            "NHWC can be described otherwise",
            "gradOutput",
            told="Describe the same memory as NCHW: shape (2, 3, 8, 8), strides (192, 1, 24, 3)",
            **all_of(ALL, shape=(2, 8, 8, 3), format="NHWC"),
        ),
        refused("gradOutput-format", "a private format", "gradOutput", **all_of(ALL, format="NC1HWC0")),
        refused("out-format", "a private format of the output", out={"format": "FRACTAL_NZ"}),
        refused("sizes", "windows whose positions pass 64 bits", "self", **all_of(ALL, shape=(1, 1, 1, 2**40))),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 1, 3, 2), values=[1, 2, 3, 4, 5, 6]),
                "self": T((1, 1, 4, 2), values=[1] * 8),
                "out": T((1, 1, 4, 2)),
            },
            {"out": [0.5, 1, 2, 3, 4, 5, 2.5, 3]},
        ),
    ),
    suite="upsampling rank-3-NCL rank-4-NCL channels-last empty-batch empty-gradients shape-of-output",
)
