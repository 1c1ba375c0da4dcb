"""What the document of aclnnMaxPool3dWithArgmax says."""

from __future__ import annotations

from document import A2_A3, A950, MODERN, NO_PRODUCT, Document, Legal, Sample, T, all_of, allowed, refused

LATEST = (*A950, NO_PRODUCT)
FLOATS, SMALL, ALL = "self out", "out indices", "self out indices"
FORMATS = {5: "NCDHW ND", 4: "NCDHW ND NCHW"}
WITH_NDHWC = {5: "NCDHW ND NDHWC", 4: "NCDHW ND NCHW NDHWC"}
LARGE = (1, 1, 2, 2**16, 2**16)

DOCUMENT = Document(
    name="aclnnMaxPool3dWithArgmax",
    header="aclnn_max_pool3d_with_argmax.h",
    signature="""const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* stride,
        const aclIntArray* padding, const aclIntArray* dilation, bool ceilMode, aclTensor* out, aclTensor* indices""",
    products=MODERN,
    legal={
        "self": T((2, 3, 8, 8, 8), format="NCDHW"),
        "kernelSize": (2, 2, 2),
        "stride": (2, 2, 2),
        "padding": (0, 0, 0),
        "dilation": (1, 1, 1),
        "ceilMode": False,
        "out": T((2, 3, 4, 4, 4), format="NCDHW"),
        "indices": T((2, 3, 4, 4, 4), "int32", format="NCDHW"),
    },
    combinations=(
        Legal(A2_A3, FORMATS, float32="float32 float16 bfloat16", int32="int32"),
        Legal(A950, WITH_NDHWC, float32="float32 float16 bfloat16", int32="int32 int64"),
        Legal((NO_PRODUCT,), WITH_NDHWC, float32="float64 float32 float16 bfloat16", int32="int32 int64"),
    ),
    lengths={"kernelSize": (1, 3), "stride": (0, 1, 3), "padding": (1, 3), "dilation": (1, 3)},
    allowed=(
        allowed("an empty batch", self={"shape": (0, 3, 8, 8, 8)}, **all_of(SMALL, shape=(0, 3, 4, 4, 4))),
        allowed(
            "no rows, and outputs that nobody looks at", self={"shape": (2, 3, 8, 0, 8)}, out={"shape": (9, 9, 9, 9, 9)}
        ),
        allowed("no channels, and a kernel that would not fit", self={"shape": (2, 0, 8, 8, 8)}, kernelSize=(9, 9, 9)),
        allowed("nothing of more than 2**31 places", self={"shape": (0, 0, *LARGE[2:])}),
        allowed("dilation", on=LATEST, dilation=(2, 2, 2), **all_of(SMALL, shape=(2, 3, 3, 3, 3))),
    ),
    alike={"format": ALL},
    order="""self-null kernelSize-null stride-null padding-null dilation-null out-null indices-null product handles
        int64 self-dtype indices-dtype out-dtype-as-self out-format-as-self indices-format-as-self self-rank
        negative-dims self-format NCHW-rank kernelSize-length kernelSize-positive stride-length stride-positive
        padding-length padding-negative padding-half dilation-length dilation-one dilation-positive
        plane-size windows-fit windows-not-empty out-pooled indices-shape-as-out plane-places
        sizes out-writable indices-writable""",
    refused=(
        refused("int64", "a dilation beyond 64 bits", dilation=(1, 1, 2**64)),
        refused("self-dtype", "integers are not pooled", "self", **all_of(FLOATS, dtype="int32")),
        refused("self-dtype", "float64 is on no product", "self", on=MODERN, **all_of(FLOATS, dtype="float64")),
        refused("indices-dtype", "indices are integers", indices={"dtype": "float32"}),
        refused("indices-dtype", "int64 is on Ascend 950 only", on=A2_A3, indices={"dtype": "int64"}),
        refused("out-dtype-as-self", "mixed dtypes", out={"dtype": "float16"}),
        refused("out-format-as-self", "mixed formats", out={"format": "ND"}),
        refused("indices-format-as-self", "mixed formats", indices={"format": "ND"}),
        refused("self-rank", "rank 3", "self", self={"shape": (8, 8, 8)}, **all_of(SMALL, shape=(4, 4, 4))),
        refused("self-rank", "rank 6", self={"shape": (1, 2, 3, 8, 8, 8)}),
        refused("negative-dims", "a negative batch", self={"shape": (-2, 3, 8, 8, 8)}),
        refused("negative-dims", "a negative size of an output", out={"shape": (2, 3, 4, -4, 4)}),
        refused("self-format", "a private format", "self", **all_of(ALL, format="NDC1HWC0")),
        refused("self-format", "NDHWC is on Ascend 950 only", "self", on=A2_A3, **all_of(ALL, format="NDHWC")),
        refused("NCHW-rank", "NCHW has four axes", "self", **all_of(ALL, format="NCHW")),
        refused("kernelSize-length", "two values", kernelSize=(2, 2)),
        refused("kernelSize-positive", "zero", kernelSize=(2, 0, 2)),
        refused("stride-length", "two values", stride=(2, 2)),
        refused("stride-positive", "negative", stride=(-2, 2, 2)),
        refused("padding-length", "no value", padding=()),
        refused("padding-negative", "negative", padding=(0, -1, 0)),
        refused("padding-half", "at most half the kernel", "padding", padding=(2, 2, 2), kernelSize=(3, 3, 3)),
        refused("dilation-length", "no value", dilation=()),
        refused("dilation-one", "dilation is on Ascend 950 only", on=A2_A3, dilation=(2, 1, 1)),
        refused("dilation-positive", "zero", on=LATEST, dilation=(0, 1, 1)),
        refused(
            "plane-size",
            "an inner operator's limit, before the windows are looked at",
            "self",
            on=A2_A3,
            status=561103,
            kernelSize=(9, 9, 9),
            self={"shape": LARGE},
        ),
        refused("windows-fit", "the window is larger than the input", "self", kernelSize=(9, 9, 9)),
        refused(
            "windows-not-empty",
            "dilation steps over the whole input",
            "dilation",
            on=LATEST,
            kernelSize=(2, 2, 2),
            padding=(1, 0, 0),
            dilation=(2, 1, 1),
            stride=(1, 2, 2),
            self={"shape": (2, 3, 1, 8, 8)},
        ),
        refused("out-pooled", "the formula gives 4 x 4 x 4", out={"shape": (2, 3, 4, 5, 4)}),
        refused("out-pooled", "another batch", out={"shape": (1, 3, 4, 4, 4)}),
        refused("out-pooled", "nothing to write", "out", **all_of(SMALL, shape=(0, 3, 4, 4, 4))),
        refused("indices-shape-as-out", "shapes differ", indices={"shape": (2, 3, 4, 4, 3)}),
        refused(
            "plane-places",
            "an index of 32 bits can't name all places",
            "self",
            on=LATEST,
            kernelSize=(1, 1, 2**16),
            stride=(1, 1, 2**16),
            self={"shape": LARGE},
            **all_of(SMALL, shape=(1, 1, 2, 2**16, 1)),
        ),
        refused(
            "sizes",
            "padding that makes positions pass 64 bits",
            "kernelSize",
            kernelSize=(2**62,),
            padding=(2**61,),
            **all_of(SMALL, shape=(2, 3, 5, 5, 5)),
        ),
    ),
    samples=(
        Sample(
            {
                "self": T((1, 1, 2, 2, 2), format="ND", values=[1, 6, 2, 8, 4, 5, 7, 3]),
                "kernelSize": (2, 2, 2),
                "stride": (2, 2, 2),
                "padding": (0, 0, 0),
                "dilation": (1, 1, 1),
                "ceilMode": False,
                "out": T((1, 1, 1, 1, 1), format="ND"),
                "indices": T((1, 1, 1, 1, 1), "int32", format="ND"),
            },
            {"out": [8], "indices": [3]},
        ),
    ),
    suite="empty-batch empty-rows rank-4-NCHW lengths-1 stride-empty strided overlap dilation-uneven",
)
