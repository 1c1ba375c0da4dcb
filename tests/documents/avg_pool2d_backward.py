"""What the document of aclnnAvgPool2dBackward says. cubeMathType has a test of its own."""

from __future__ import annotations

from document import A2_A3, A950, CLASSIC, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

PRODUCTS = ("Atlas A2", "Atlas A3", "Atlas inference series", "Atlas training series", "Ascend 950")
FLOATS = "gradOutput self gradInput"
FORMATS = {4: "NCHW", 3: "NCHW NCL"}
HALVES, DOUBLES = (all_of(FLOATS, dtype=dtype) for dtype in ("bfloat16", "float64"))
AS_NCHW = "Describe the same memory as NCHW: shape "

DOCUMENT = Document(
    name="aclnnAvgPool2dBackward",
    header="aclnn_avgpool2d_backward.h",
    signature="""const aclTensor* gradOutput, const aclTensor* self, const aclIntArray* kernelSize,
        const aclIntArray* stride, const aclIntArray* padding, bool ceilMode, bool countIncludePad,
        int64_t divisorOverride, int8_t cubeMathType, aclTensor* gradInput""",
    products=PRODUCTS,
    nullable="stride",
    legal={
        "gradOutput": T((2, 3, 4, 4)),
        "self": T((2, 3, 8, 8)),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 1,
        "gradInput": T((2, 3, 8, 8)),
    },
    combinations=(
        Legal(MODERN, FORMATS, float32="float32 float16 bfloat16"),
        Legal(CLASSIC, FORMATS, float32="float32 float16"),
        Legal((NO_PRODUCT,), FORMATS, float32="float64 float32 float16 bfloat16"),
    ),
    lengths={"kernelSize": (1, 2), "stride": (None, 0, 1, 2), "padding": (1, 2)},
    allowed=(
        *(allowed("a divisor", divisorOverride=divisor) for divisor in (-255, -1, 1, 255)),
        *(
            allowed("a divisor of any size", on=(*MODERN, NO_PRODUCT), divisorOverride=divisor)
            for divisor in (-(2**63), -256, 256, 2**63 - 1)
        ),
        allowed("padding of half the kernel", kernelSize=(2,), padding=(1,), gradOutput={"shape": (2, 3, 5, 5)}),
        allowed(
            "an empty batch",
            on=(NO_PRODUCT,),
            gradOutput={"shape": (0, 3, 4, 4)},
            **all_of("self gradInput", shape=(0, 3, 8, 8)),
        ),
    ),
    alike={"dtype": FLOATS, "format": FLOATS},
    order="""gradOutput-null self-null kernelSize-null padding-null gradInput-null product handles int64
        gradOutput-dtype gradOutput-dtype-as-gradInput self-dtype-as-gradInput
        gradOutput-format self-format-as-gradInput gradOutput-rank gradOutput-rank-as-self NCL-rank negative-dims
        kernelSize-length kernelSize-positive stride-length stride-positive padding-length padding-half
        padding-negative cubeMathType-range cubeMathType-dtype self-shape-as-gradInput empty gradOutput-NC
        gradOutput-pooled divisorOverride-range sizes gradInput-writable""",
    refused=(
        refused("int64", "a kernel beyond 64 bits", kernelSize=(2**63,)),
        refused("int64", "a divisor beyond 64 bits", divisorOverride=-(2**63) - 1),
        refused("gradOutput-dtype", "integers are not pooled", gradOutput={"dtype": "int32"}),
        refused("gradOutput-dtype", "all three are looked at", self={"dtype": "int32"}),
        refused("gradOutput-dtype", "and the output", gradInput={"dtype": "int32"}),
        refused("gradOutput-dtype", "float64 is on no product", "gradOutput", on=PRODUCTS, **DOUBLES),
        refused("gradOutput-dtype", "bfloat16 is modern", "gradOutput", on=CLASSIC, **HALVES),
        refused("gradOutput-dtype-as-gradInput", "mixed dtypes", gradOutput={"dtype": "float16"}),
        refused("self-dtype-as-gradInput", "mixed dtypes", self={"dtype": "float16"}),
        refused("gradOutput-format", "ND is refused", gradOutput={"format": "ND"}),
        refused("gradOutput-format", "NHWC is refused", self={"format": "NHWC"}),
        refused("gradOutput-format", "private formats are refused", gradInput={"format": "NC1HWC0"}),
        *(
            refused(
                "gradOutput-format",
                f"{format} {shape}",
                "gradOutput",
                **all_of(FLOATS, shape=shape, format=format),
                on=on,
                told=told,
            )
            for format, shape, on, told in (
                ("NHWC", (2, 8, 8, 3), A2_A3, f"{AS_NCHW}(2, 3, 8, 8), strides (192, 1, 24, 3)"),
                ("NHWC", (8, 8, 3), (NO_PRODUCT,), f"{AS_NCHW}(3, 8, 8), strides (1, 24, 3)"),
                ("NHWC", (8, 3), A2_A3, "Use one of these formats."),
                ("NC1HWC0", (2, 8, 8, 3), A2_A3, "Use one of these formats."),
            )
        ),
        refused("self-format-as-gradInput", "mixed formats", self={"format": "NCL"}),
        refused("gradOutput-rank", "rank 2", gradOutput={"shape": (4, 4)}),
        refused("gradOutput-rank", "rank 5", self={"shape": (1, 2, 3, 8, 8)}),
        refused("gradOutput-rank-as-self", "ranks differ", gradOutput={"shape": (3, 4, 4)}),
        refused("NCL-rank", "NCL has three axes", "gradOutput", **all_of(FLOATS, format="NCL")),
        refused("negative-dims", "a negative size", self={"shape": (2, 3, -8, 8)}),
        refused("negative-dims", "a negative size in the output", gradInput={"shape": (-2, 3, 8, 8)}),
        refused("kernelSize-length", "no value", kernelSize=()),
        refused("kernelSize-length", "three values", kernelSize=(2, 2, 2)),
        refused("kernelSize-positive", "zero", kernelSize=(2, 0)),
        refused("kernelSize-positive", "negative", kernelSize=(-2,)),
        refused("stride-length", "three values", stride=(2, 2, 2)),
        refused("stride-positive", "zero", stride=(0,)),
        refused("padding-length", "no value", padding=()),
        refused("padding-length", "three values", padding=(0, 0, 0)),
        refused("padding-half", "padding is at most half the kernel", "padding", padding=(2, 0), kernelSize=(3, 3)),
        refused("padding-half", "also on W alone", "padding", padding=(1, 2), kernelSize=(3, 3)),
        refused("padding-negative", "negative", padding=(-1, 0)),
        refused("cubeMathType-range", "below 0", cubeMathType=-1),
        refused("cubeMathType-range", "above 3", cubeMathType=4),
        refused(
            "cubeMathType-dtype",
            "HF32 is for float32",
            "cubeMathType",
            cubeMathType=3,
            **all_of(FLOATS, dtype="float16"),
        ),
        refused("cubeMathType-dtype", "no float32 arithmetic", on=CLASSIC, cubeMathType=0),
        refused("cubeMathType-dtype", "no HF32", on=CLASSIC, cubeMathType=3),
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
            "bfloat16 as float16 in global pooling",
            "cubeMathType",
            on=A950,
            cubeMathType=2,
            kernelSize=(8,),
            **HALVES | {"gradOutput": T((2, 3, 1, 1), "bfloat16")},
        ),
        refused(
            "cubeMathType-dtype",
            "float64 is never narrowed",
            "cubeMathType",
            on=(NO_PRODUCT,),
            cubeMathType=2,
            **DOUBLES,
        ),
        refused("self-shape-as-gradInput", "shapes differ", gradInput={"shape": (2, 3, 8, 9)}),
        refused(
            "empty",
            "no channels",
            "gradOutput",
            gradOutput={"shape": (2, 0, 4, 4)},
            **all_of("self gradInput", shape=(2, 0, 8, 8)),
        ),
        refused(
            "empty",
            "an empty batch",
            "gradOutput",
            on=PRODUCTS,
            gradOutput={"shape": (0, 3, 4, 4)},
            **all_of("self gradInput", shape=(0, 3, 8, 8)),
        ),
        refused("gradOutput-NC", "another batch", gradOutput={"shape": (1, 3, 4, 4)}),
        refused("gradOutput-NC", "other channels", gradOutput={"shape": (2, 4, 4, 4)}),
        refused("gradOutput-pooled", "the formula gives 4 x 4", gradOutput={"shape": (2, 3, 4, 5)}),
        refused("gradOutput-pooled", "the window is larger than the input", "gradOutput", kernelSize=(9, 9)),
        refused("divisorOverride-range", "above 255", on=CLASSIC, divisorOverride=256),
        refused("divisorOverride-range", "below -255", on=CLASSIC, divisorOverride=-256),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            gradOutput={"shape": (2, 3, 5, 5)},
            kernelSize=(2**62,),
            padding=(2**61,),
        ),
    ),
    samples=(
        Sample(
            {
                "gradOutput": T((1, 16, 1, 1), values=[1] * 16),
                "self": T((1, 16, 4, 4), values=[1] * 256),
                "kernelSize": (4, 4),
                "stride": (1, 1),
                "padding": (0, 0),
                "ceilMode": False,
                "countIncludePad": True,
                "divisorOverride": 0,
                "cubeMathType": 1,
                "gradInput": T((1, 16, 4, 4)),
            },
            {"gradInput": [0.0625] * 256},
        ),
    ),
    suite="""divisor-0-padding-counts divisor-0-padding-does-not-count cube-1-float32-Atlas-A2
        cube-2-float32-Atlas-A2 cube-3-float32-Atlas-A2 rank-3-NCL lengths-1 stride-empty channels-last empty-batch""",
)
