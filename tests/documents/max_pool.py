"""What the document of aclnnMaxPool says."""

from __future__ import annotations

from document import A2_A3, A950, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

TRAINING = ("Atlas training series",)
PRODUCTS = (*A2_A3, *TRAINING, *A950)
BOTH = "self out"
FORMATS = {4: "NCHW ND", 3: "NCHW ND NCL"}

# The least and the greatest of each type.
BOUNDS = {
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def of_integers(dtype: str, low: int, high: int) -> Sample:
    """Neighbours at both ends of a type, and windows of padding only."""
    values = [low, low + 1, low, high - 1, high, high - 2]
    call = {
        "self": T((1, 1, 2, 3), dtype, values=values),
        "kernelShape": (1, 2),
        "strides": (),
        "autoPad": 0,
        "pads": (0, 2, 0, 0),
        "dilations": (),
        "ceilMode": 0,
        "out": T((1, 1, 2, 4), dtype),
    }
    results = [low, low, low + 1, low + 1, low, high - 1, high, high]
    return Sample(call, {"out": results}, why=f"{dtype} is compared as integers", on=A950)


DOCUMENT = Document(
    name="aclnnMaxPool",
    header="aclnn_max_pool.h",
    signature="""const aclTensor* self, const aclIntArray* kernelShape, const aclIntArray* strides,
        const int64_t autoPad, const aclIntArray* pads, const aclIntArray* dilations, const int64_t ceilMode,
        aclTensor* out""",
    products=PRODUCTS,
    legal={
        "self": T((2, 3, 8, 8), "float16"),
        "kernelShape": (2, 2),
        "strides": (2, 2),
        "autoPad": 0,
        "pads": (0, 0, 0, 0),
        "dilations": (1, 1, 1, 1),
        "ceilMode": 0,
        "out": T((2, 3, 4, 4), "float16"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float16="float32 float16"),
        Legal(TRAINING, FORMATS, float16="float16"),
        Legal(A950, FORMATS, float16=f"float32 float16 bfloat16 {' '.join(BOUNDS)}"),
        Legal((NO_PRODUCT,), FORMATS, float16=f"float64 float32 float16 bfloat16 {' '.join(BOUNDS)}"),
    ),
    lengths={"kernelShape": (1, 2), "strides": (1, 2), "pads": (0, 1, 2, 4), "dilations": (0, 1, 2, 4)},
    allowed=(
        allowed("an empty batch", self={"shape": (0, 3, 8, 8)}, out={"shape": (0, 3, 4, 4)}),
        allowed("no strides mean 1", strides=(), out={"shape": (2, 3, 7, 7)}),
        allowed("another ceil mode than 1", ceilMode=-3, self={"shape": (2, 3, 7, 7)}),
        allowed("pads on one side, as many as the kernel", pads=(0, 2, 0, 0), out={"shape": (2, 3, 4, 5)}),
    ),
    order="""self-null kernelShape-null strides-null pads-null dilations-null out-null product handles int64
        self-dtype out-dtype-as-self out-format-as-self self-format self-rank NCL-rank negative-dims kernelShape-length
        strides-length pads-length dilations-length autoPad-zero dilations-one kernelShape-positive strides-positive
        pads-negative pads-sums self-dims windows-fit out-pooled sizes out-writable""",
    refused=(
        refused("int64", "a number beyond 64 bits", autoPad=2**64),
        refused("self-dtype", "no product has it", "self", **all_of(BOTH, dtype="uint32")),
        refused("self-dtype", "no float32", "self", on=TRAINING, **all_of(BOTH, dtype="float32")),
        refused("self-dtype", "integers are on Ascend 950", "self", on=A2_A3, **all_of(BOTH, dtype="int32")),
        refused("self-dtype", "so is bfloat16", "self", on=A2_A3, **all_of(BOTH, dtype="bfloat16")),
        refused("self-dtype", "float64 is on no product", "self", on=PRODUCTS, **all_of(BOTH, dtype="float64")),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "int8"}),
        refused("out-format-as-self", "mixed formats", out={"format": "ND"}),
        refused("self-format", "a private format", "self", **all_of(BOTH, format="NC1HWC0")),
        refused("self-format", "channels last", "self", **all_of(BOTH, format="NHWC")),
        refused("self-rank", "rank 2", "self", self={"shape": (8, 8)}, out={"shape": (4, 4)}),
        refused("self-rank", "rank 5", self={"shape": (1, 2, 3, 8, 8)}),
        refused("NCL-rank", "NCL has three axes", "self", **all_of(BOTH, format="NCL")),
        refused("negative-dims", "a negative batch", self={"shape": (-2, 3, 8, 8)}),
        refused("kernelShape-length", "three values", kernelShape=(2, 2, 2)),
        refused("kernelShape-length", "no value", kernelShape=()),
        refused("strides-length", "three values", strides=(2, 2, 2)),
        refused("pads-length", "three values", pads=(0, 0, 0)),
        refused("dilations-length", "three values", dilations=(1, 1, 1)),
        refused("autoPad-zero", "another way to pad", autoPad=1),
        refused("dilations-one", "dilation", dilations=(1, 2)),
        refused("dilations-one", "a dilation of 0", dilations=(0,)),
        refused("kernelShape-positive", "zero", kernelShape=(0, 2)),
        refused("strides-positive", "negative", strides=(-2, 2)),
        refused("pads-negative", "negative", pads=(0, 0, -1, 0)),
        refused("pads-sums", "more than the kernel along W", "pads", kernelShape=(2, 2), pads=(0, 2, 0, 1)),
        refused("pads-sums", "one number on both sides", "pads", kernelShape=(2, 2), pads=(2,)),
        refused("self-dims", "no rows", self={"shape": (2, 3, 0, 8)}),
        refused("self-dims", "no channels", self={"shape": (2, 0, 8, 8)}),
        refused("windows-fit", "the window is larger than the input", "self", kernelShape=(9, 9)),
        refused("out-pooled", "the formula gives 4 x 4", out={"shape": (2, 3, 5, 4)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 4, 4)}),
        refused(
            "sizes",
            "pads that make positions pass 64 bits",
            "kernelShape",
            kernelShape=(2**62,),
            pads=(2**61,),
            out={"shape": (2, 3, 5, 5)},
        ),
    ),
    samples=(
        Sample(
            {
                "self": T((2, 2, 3, 3), values=range(1, 37)),
                "kernelShape": (2, 2),
                "strides": (2, 2),
                "autoPad": 0,
                "pads": (0, 0, 0, 0),
                "dilations": (1, 1, 1, 1),
                "ceilMode": 1,
                "out": T((2, 2, 2, 2)),
            },
            {"out": [5, 6, 8, 9, 14, 15, 17, 18, 23, 24, 26, 27, 32, 33, 35, 36]},
            on=(*A2_A3, *A950),
        ),
        *(of_integers(dtype, *bounds) for dtype, bounds in BOUNDS.items()),
    ),
    suite="empty-batch rank-3-NCL lengths-1 stride-empty strided overlap pads-4 padding-only dtype-int64",
)
