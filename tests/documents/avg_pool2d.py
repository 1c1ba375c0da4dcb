"""What the document of aclnnAvgPool2d says. cubeMathType has a test of its own."""

from __future__ import annotations

from document import A2_A3, A950, CLASSIC, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas inference series", "Atlas training series", "Ascend 950")
FLOATS = "self out"
FORMATS = {4: "NCHW", 3: "NCL"}
HALVES, DOUBLES = (all_of(FLOATS, dtype=dtype) for dtype in ("bfloat16", "float64"))
EMPTY_BATCH = {"self": {"shape": (0, 3, 8, 8)}, "out": {"shape": (0, 3, 4, 4)}}

DOCUMENT = Document(
    name="aclnnAvgPool2d",
    header="aclnn_avgpool2d.h",
    signature="""const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* strides,
        const aclIntArray* paddings, bool ceilMode, bool countIncludePad, int64_t divisorOverride,
        int8_t cubeMathType, aclTensor* out""",
    products=PRODUCTS,
    legal={
        "self": T((2, 3, 8, 8)),
        "kernelSize": (2, 2),
        "strides": (2, 2),
        "paddings": (0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 2,
        "out": T((2, 3, 4, 4)),
    },
    # bfloat16 and float64 have no computation in float16: see below.
    combinations=(
        Legal((*A2_A3, *CLASSIC, NO_PRODUCT), FORMATS, float32="float32 float16"),
        Legal(A950, FORMATS, float32="float32 float16 bfloat16"),
    ),
    lengths={"kernelSize": (1, 2), "strides": (0, 1, 2), "paddings": (1, 2)},
    allowed=(
        allowed("bfloat16", on=(*MODERN, NO_PRODUCT), cubeMathType=1, **HALVES),
        allowed("float64", on=(NO_PRODUCT,), cubeMathType=0, **DOUBLES),
        *(allowed("a divisor of any size", divisorOverride=divisor) for divisor in (-(2**63), -256, 1, 2**63 - 1)),
        allowed("padding of half the kernel", kernelSize=(2,), paddings=(1,), out={"shape": (2, 3, 5, 5)}),
        allowed(
            "a kernel beyond the input in ceil mode", kernelSize=(9, 2), ceilMode=True, out={"shape": (2, 3, 1, 4)}
        ),
        allowed("an empty batch", on=(NO_PRODUCT,), **EMPTY_BATCH),
    ),
    order="""self-null kernelSize-null strides-null paddings-null out-null product handles int64 self-dtype out-dtype
        out-dtype-as-self self-format out-format rank-format negative-dims kernelSize-positive strides-positive
        paddings-negative self-rank out-rank-as-self empty kernelSize-length paddings-length strides-length
        paddings-half windows-fit out-pooled cubeMathType-range cubeMathType-dtype sizes out-writable""",
    refused=(
        refused("int64", "a kernel beyond 64 bits", kernelSize=(2**63,)),
        refused("int64", "a divisor beyond 64 bits", divisorOverride=-(2**63) - 1),
        refused("self-dtype", "integers are not pooled", self={"dtype": "int32"}),
        refused("self-dtype", "float64 is on no product", "self", on=PRODUCTS, **DOUBLES),
        refused("self-dtype", "bfloat16 is modern", "self", on=CLASSIC, **HALVES),
        refused("out-dtype", "the output is looked at, too", out={"dtype": "int32"}),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("self-format", "ND is refused", self={"format": "ND"}),
        refused(
            "self-format",
            "NHWC can be described otherwise",
            "self",
            told="Describe the same memory as NCHW: shape (2, 3, 8, 8), strides (192, 1, 24, 3)",
            self={"shape": (2, 8, 8, 3), "format": "NHWC"},
            out={"shape": (2, 4, 4, 3), "format": "NHWC"},
        ),
        refused("self-format", "a private format", "self", **all_of(FLOATS, format="NC1HWC0")),
        refused("out-format", "ND is refused", out={"format": "ND"}),
        refused("rank-format", "NCL has three axes", self={"format": "NCL"}),
        refused("rank-format", "the output's, too", "out", self={"shape": (2, 3, 8, 8)}, out={"format": "NCL"}),
        refused("rank-format", "NCHW has four axes", "self", self={"shape": (3, 8, 8)}, out={"shape": (3, 4, 4)}),
        refused("negative-dims", "a negative size", self={"shape": (2, 3, -8, 8)}),
        refused("negative-dims", "a negative size of the output", out={"shape": (2, 3, 4, -4)}),
        refused("kernelSize-positive", "zero", kernelSize=(2, 0)),
        refused("strides-positive", "negative", strides=(-2,)),
        refused("paddings-negative", "negative", paddings=(-1, 0)),
        refused("self-rank", "rank 5", self={"shape": (1, 2, 3, 8, 8)}),
        refused("self-rank", "rank 2", self={"shape": (8, 8)}),
        refused("out-rank-as-self", "ranks differ", out={"shape": (3, 4, 4)}),
        refused("empty", "no channels", "self", self={"shape": (2, 0, 8, 8)}, out={"shape": (2, 0, 4, 4)}),
        refused("empty", "no rows", self={"shape": (2, 3, 0, 8)}),
        refused("empty", "an empty batch", "self", on=PRODUCTS, **EMPTY_BATCH),
        refused("kernelSize-length", "no value", kernelSize=()),
        refused("kernelSize-length", "three values", kernelSize=(2, 2, 2)),
        refused("paddings-length", "no value", paddings=()),
        refused("strides-length", "three values", strides=(2, 2, 2)),
        refused("paddings-half", "padding is at most half the kernel", "paddings", paddings=(2, 0), kernelSize=(3, 3)),
        refused("paddings-half", "also on W alone", "paddings", paddings=(1, 2), kernelSize=(3, 3)),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9), strides=(9, 9)),
        refused("out-pooled", "the formula gives 4 x 4", out={"shape": (2, 3, 4, 5)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 4, 4)}),
        refused("cubeMathType-range", "below 0", cubeMathType=-1),
        refused("cubeMathType-range", "above 3", cubeMathType=4),
        refused("cubeMathType-dtype", "no HF32", cubeMathType=3),
        refused("cubeMathType-dtype", "no down precision", on=(*A2_A3, NO_PRODUCT), cubeMathType=1, told="Use 0 or 2."),
        refused("cubeMathType-dtype", "no float32 arithmetic", on=CLASSIC, cubeMathType=0, told="Use 1 or 2."),
        refused(
            "cubeMathType-dtype",
            "bfloat16 never as float16",
            "cubeMathType",
            on=(*A2_A3, NO_PRODUCT),
            cubeMathType=2,
            **HALVES,
        ),
        refused(
            "cubeMathType-dtype",
            "float64 is never narrowed",
            "cubeMathType",
            on=(NO_PRODUCT,),
            cubeMathType=2,
            **DOUBLES,
        ),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            out={"shape": (2, 3, 5, 5)},
            kernelSize=(2**62,),
            paddings=(2**61,),
        ),
    ),
    samples=(
        Sample(
            {
                "self": T((1, 16, 4, 4), values=[2] * 256),
                "kernelSize": (4, 4),
                "strides": (1, 1),
                "paddings": (0, 0),
                "ceilMode": False,
                "countIncludePad": True,
                "divisorOverride": 0,
                "cubeMathType": 2,
                "out": T((1, 16, 1, 1)),
            },
            {"out": [2] * 16},
        ),
    ),
    suite="""divisor-0-padding-counts divisor-0-padding-does-not-count cube-2-float32-Atlas-A2 rank-3-NCL lengths-1
        stride-empty channels-last empty-batch""",
)
