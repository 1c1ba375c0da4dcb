"""What is measured: cases as lines of text, in groups that carry their targets.

A line reads ``operator shape window [dtype] [layout] [indices] [| where it comes from]``; a star in front puts it into
the quick run as well. Windows are ``k3s2p1`` (kernel, stride, padding; the stride is the kernel's size if it is left
out) or, for adaptive pooling, the size of the output: ``o7x7``. Numbers that differ by axis are ``k1x3x3s1x2x2p0x1x1``.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

OPERATORS = {
    "avg": "avg_pool2d_backward",
    "aavg": "adaptive_avg_pool3d_backward",
    "max": "max_pool2d_with_indices_backward",
    "amax": "adaptive_max_pool2d_backward",
    "max3": "max_pool3d_with_argmax_backward",
    "amax3": "adaptive_max_pool3d_backward",
}
ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4}
# One number for all axes, or one for each.
Numbers = int | tuple[int, ...]
LAYOUTS = ("contiguous", "channels_last", "cropped", "every_second", "transposed")


@dataclass(frozen=True)
class Case:
    """One call: everything about its tensors and parameters."""

    operator: str
    shape: tuple[int, ...]
    window: str
    dtype: str = "float32"
    layout: str = "contiguous"
    index_dtype: str = "int64"
    source: str = ""
    quick: bool = False

    @property
    def name(self) -> str:
        parts = ["x".join(map(str, self.shape)), self.window]
        parts += [part for part in (self.dtype, self.layout) if part not in ("float32", "contiguous")]
        parts += ["int32"] if self.index_dtype == "int32" else []
        return " ".join([self.operator, *parts]) + (f" ({self.source})" if self.source else "")

    @property
    def has_indices(self) -> bool:
        return "max" in self.operator

    @property
    def adaptive(self) -> bool:
        return self.operator in ("aavg", "amax", "amax3")

    @property
    def axes(self) -> int:
        """How many are pooled."""
        return 3 if self.operator in ("aavg", "max3", "amax3") else 2

    @cached_property
    def parameters(self) -> tuple[Numbers, Numbers, Numbers]:
        """Kernel, stride and padding; only for windows that have them."""
        found = re.fullmatch(r"k([\dx]+)(?:s([\dx]+))?(?:p([\dx]+))?", self.window)
        if not found:
            raise ValueError(f"{self.window!r} is no window: expected something like k3s2p1")
        kernel, stride, padding = found.groups()
        return _numbers(kernel), _numbers(stride or kernel), _numbers(padding or "0")

    @property
    def by_axis(self) -> list[tuple[int, int, int]]:
        """The same for each axis."""
        spread = (n if isinstance(n, tuple) else (n,) * self.axes for n in self.parameters)
        return list(zip(*spread, strict=True))

    @cached_property
    def grad_shape(self) -> tuple[int, ...]:
        """The shape of the pooled output."""
        if self.adaptive:
            sizes = tuple(map(int, self.window.removeprefix("o").split("x")))
        else:
            pooled = zip(self.shape[-self.axes :], self.by_axis, strict=True)
            sizes = tuple((size + 2 * padding - kernel) // stride + 1 for size, (kernel, stride, padding) in pooled)
        return (*self.shape[: -self.axes], *sizes)

    @property
    def bytes_read(self) -> int:
        """What any implementation has to read: the gradient and, for max pooling, the indices."""
        indices = ITEMSIZE[self.index_dtype] if self.has_indices else 0
        return math.prod(self.grad_shape) * (ITEMSIZE[self.dtype] + indices)

    @property
    def bytes_written(self) -> int:
        return math.prod(self.shape) * ITEMSIZE[self.dtype]


def _numbers(text: str) -> Numbers:
    return tuple(map(int, text.split("x"))) if "x" in text else int(text)


def parse(line: str) -> Case:
    """A case from its line."""
    text, _, source = line.partition("|")
    quick = text.startswith("*")
    operator, shape, window, *rest = text.lstrip("* ").split()
    words = {"dtype": "float32", "layout": "contiguous", "index_dtype": "int64"}
    for word in rest:
        kind = "layout" if word in LAYOUTS else "index_dtype" if word.startswith("int") else "dtype"
        words[kind] = word
    if operator not in OPERATORS or words["dtype"] not in ITEMSIZE or words["index_dtype"] not in ITEMSIZE:
        raise ValueError(f"no such case: {line!r}")
    return Case(operator, tuple(map(int, shape.split("x"))), window, source=source.strip(), quick=quick, **words)


@dataclass(frozen=True)
class Goal:
    """How many times as fast as torch on all threads: the geometric mean of a group, and its slowest case."""

    mean: float
    worst: float | None = None


@dataclass(frozen=True)
class Group:
    """Cases that are judged together. ``target`` is None where nothing was promised."""

    key: str
    title: str
    chinese: str
    target: Goal | None
    stretch: Goal | None
    lines: str

    @property
    def description(self) -> dict[str, Any]:
        """All but the cases, for the JSON."""
        goals = {"target": self.target, "stretch": self.stretch}
        return {
            "key": self.key,
            "title": self.title,
            "chinese": self.chinese,
            **{name: asdict(goal) if goal else None for name, goal in goals.items()},
        }

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        return tuple(parse(line) for line in self.lines.strip().splitlines())


GROUPS = (
    Group(
        "avg-strided",
        "average f32, strided",
        "平均 f32，步长大于 1",
        Goal(5, 3.3),
        Goal(7, 4.5),
        """
* avg 8x64x112x112 k2s2
avg 16x64x224x224 k2s2
avg 32x128x56x56 k2s2
avg 32x256x28x28 k2s2
avg 1x64x56x56 k2s2
* avg 16x64x112x112 k3s2p1
avg 8x32x224x224 k3s2p1
avg 32x128x56x56 k3s2p1
* avg 32x256x28x28 k3s2p1
avg 4x64x56x56 k3s2p1
avg 8x32x224x224 k5s3
avg 16x64x112x112 k5s3
avg 16x64x112x112 k3s3
avg 32x256x28x28 k3s3
""",
    ),
    Group(
        "avg-overlapping",
        "average f32, overlapping",
        "平均 f32，窗口重叠",
        Goal(20, 9),
        Goal(40, 16),
        """
* avg 8x64x112x112 k3s1p1
avg 32x256x28x28 k3s1p1
avg 1x64x56x56 k3s1p1
* avg 8x64x112x112 k7s1p3
avg 4x64x56x56 k7s1p3
avg 4x64x56x56 k15s1p7
avg 1x64x112x112 k31s1p15
""",
    ),
    Group(
        "avg-fill",
        "average f32, fill-like",
        "平均 f32，近似填充",
        Goal(2.2, 1.0),
        Goal(3.2, 1.4),
        """
avg 16x64x117x117 k13s13
* avg 16x64x112x112 k1s4
avg 64x2048x7x7 k7
* avg 32x128x56x56 k56
avg 8x32x224x224 k224
avg 1x64x56x56 k56
""",
    ),
    Group(
        "avg-7x7",
        "average f32, 7×7 planes",
        "平均 f32，7×7 平面",
        Goal(3, 1.3),
        Goal(6, 2.5),
        """
* avg 64x2048x7x7 k2s2
avg 64x2048x7x7 k3s1p1
avg 64x2048x7x7 k3s2p1
* avg 64x2048x7x7 k7
avg 8x512x7x7 k3s1p1
""",
    ),
    Group(
        "avg-one-plane",
        "average f32, one plane of 8192²",
        "平均 f32，单个 8192² 平面",
        Goal(22, 12),
        Goal(38, 20),
        """
* avg 1x1x8192x8192 k2s2
avg 1x1x8192x8192 k3s1p1
avg 1x1x8192x8192 k3s2p1
""",
    ),
    Group(
        "avg-f16",
        "average f16",
        "平均 f16",
        Goal(14, 5.5),
        Goal(28, 11),
        """
* avg 16x64x112x112 k2s2 float16
avg 16x64x112x112 k3s2p1 float16
avg 8x64x112x112 k3s1p1 float16
* avg 4x64x56x56 k7s1p3 float16
avg 32x256x28x28 k3s2p1 float16
""",
    ),
    Group(
        "avg-bf16",
        "average bf16",
        "平均 bf16",
        Goal(17, 7),
        Goal(33, 13),
        """
* avg 16x64x112x112 k2s2 bfloat16
avg 16x64x112x112 k3s2p1 bfloat16
avg 8x64x112x112 k3s1p1 bfloat16
* avg 4x64x56x56 k7s1p3 bfloat16
avg 32x256x28x28 k3s2p1 bfloat16
""",
    ),
    Group(
        "aavg-f32",
        "adaptive average 3-D f32",
        "自适应平均 3-D f32",
        Goal(2.8, 1.0),
        Goal(4.5),
        """
* aavg 4x64x16x56x56 o8x28x28 | C3D pool2
aavg 8x512x4x14x14 o2x7x7
* aavg 4x64x16x56x56 o5x17x19
aavg 8x512x5x15x13 o2x7x7
aavg 8x1024x8x7x7 o1x1x1 | I3D head
aavg 4x64x16x56x56 o1x1x1
aavg 8x64x4x14x14 o8x28x28
""",
    ),
    Group(
        "aavg-f16",
        "adaptive average 3-D f16",
        "自适应平均 3-D f16",
        Goal(19, 9),
        Goal(38),
        """
* aavg 4x64x16x56x56 o8x28x28 float16
aavg 4x64x16x56x56 o5x17x19 float16
aavg 8x1024x8x7x7 o1x1x1 float16
aavg 8x64x4x14x14 o8x28x28 float16
""",
    ),
    Group(
        "aavg-bf16",
        "adaptive average 3-D bf16",
        "自适应平均 3-D bf16",
        Goal(5.3, 2.2),
        Goal(11),
        """
* aavg 4x64x16x56x56 o8x28x28 bfloat16
aavg 4x64x16x56x56 o5x17x19 bfloat16
aavg 8x1024x8x7x7 o1x1x1 bfloat16
aavg 8x64x4x14x14 o8x28x28 bfloat16
""",
    ),
    Group(
        "max-disjoint",
        "max k = s, f32, int64",
        "最大 k = s，f32，int64",
        Goal(1.8, 1.4),
        Goal(2.5, 2.0),
        """
* max 16x64x112x112 k2s2
max 8x64x224x224 k2s2
* max 32x128x56x56 k2s2
max 1x64x56x56 k2s2
max 16x64x112x112 k3s3
""",
    ),
    Group(
        "max-overlapping",
        "max overlapping, f32, int64",
        "最大，窗口重叠，f32，int64",
        Goal(1.6, 1.3),
        Goal(2.3, 1.8),
        """
* max 16x64x112x112 k3s2p1 | ResNet stem
max 32x64x55x55 k3s2 | AlexNet
* max 32x256x28x28 k3s1p1
max 1x64x112x112 k3s2p1
""",
    ),
    Group(
        "max-half-disjoint",
        "max f16/bf16, k = s",
        "最大 f16/bf16，k = s",
        Goal(1.8),
        Goal(2.7),
        """
* max 16x64x112x112 k2s2 float16
max 32x128x56x56 k2s2 float16
max 16x64x112x112 k2s2 bfloat16
max 32x128x56x56 k2s2 bfloat16
""",
    ),
    Group(
        "max-half-overlapping",
        "max f16/bf16, overlapping",
        "最大 f16/bf16，窗口重叠",
        Goal(1.05),
        Goal(1.6),
        """
* max 16x64x112x112 k3s2p1 float16
max 32x256x28x28 k3s1p1 float16
max 16x64x112x112 k3s2p1 bfloat16
max 32x256x28x28 k3s1p1 bfloat16
""",
    ),
    Group(
        "amax-f32",
        "adaptive max f32",
        "自适应最大 f32",
        Goal(1.6, 1.3),
        Goal(2.2, 1.8),
        """
* amax 16x64x112x112 o56x56
amax 32x512x14x14 o7x7
* amax 16x64x112x112 o50x37
amax 32x256x28x28 o5x5
""",
    ),
    Group(
        "max3-f32",
        "max 3-D f32, int32 (torch: int64)",
        "最大 3-D f32，int32（torch 为 int64）",
        None,
        None,
        """
* max3 2x64x16x56x56 k3s2p1 int32 | 3D-ResNet stem
max3 2x64x16x112x112 k3s2p1 int32
max3 2x64x16x112x112 k1x2x2 int32 | C3D pool 1
* max3 2x128x16x56x56 k2s2 int32 | C3D pool 2
max3 8x512x4x14x14 k2s2 int32 | C3D pool 4
max3 1x64x32x112x112 k1x3x3s1x2x2p0x1x1 int32 | I3D pool 1
max3 1x480x32x28x28 k3s2p1 int32 | I3D pool 3
* max3 1x192x32x28x28 k3s1p1 int32 | I3D mixed 3b
max3 1x832x8x7x7 k3s1p1 int32 | I3D mixed 5b
""",
    ),
    Group(
        "max3-half",
        "max 3-D f16/bf16, int32 (torch: int64)",
        "最大 3-D f16/bf16，int32（torch 为 int64）",
        None,
        None,
        """
* max3 2x64x16x56x56 k3s2p1 float16 int32 | 3D-ResNet stem
max3 2x128x16x56x56 k2s2 float16 int32 | C3D pool 2
max3 1x192x32x28x28 k3s1p1 float16 int32 | I3D mixed 3b
max3 2x64x16x56x56 k3s2p1 bfloat16 int32 | 3D-ResNet stem
max3 2x128x16x56x56 k2s2 bfloat16 int32 | C3D pool 2
max3 1x192x32x28x28 k3s1p1 bfloat16 int32 | I3D mixed 3b
""",
    ),
    Group(
        "amax3",
        "adaptive max 3-D, int32 (torch: int64)",
        "自适应最大 3-D，int32（torch 为 int64）",
        None,
        None,
        """
* amax3 4x64x16x56x56 o8x28x28 int32 | C3D pool 2
amax3 4x64x16x56x56 o5x17x19 int32
amax3 8x1024x8x7x7 o1x1x1 int32 | I3D head
amax3 4x64x16x56x56 o8x28x28 float16 int32 | C3D pool 2
amax3 4x64x16x56x56 o8x28x28 bfloat16 int32 | C3D pool 2
""",
    ),
    Group(
        "max-7x7",
        "max, 7×7 planes",
        "最大，7×7 平面",
        Goal(1.0, 0.9),
        Goal(1.5, 1.2),
        """
* max 64x2048x7x7 k2s2
max 64x2048x7x7 k3s2p1
max 64x2048x7x7 k3s1p1
max 64x2048x7x7 k7
""",
    ),
    Group(
        "channels-last-avg",
        "average f32, channels last",
        "平均 f32，channels last",
        Goal(1.8, 1.1),
        Goal(2.6, 1.4),
        """
* avg 16x64x112x112 k2s2 channels_last
avg 16x64x112x112 k3s2p1 channels_last
* avg 32x256x28x28 k3s1p1 channels_last
avg 8x64x56x56 k7s1p3 channels_last
avg 64x2048x7x7 k7 channels_last
""",
    ),
    Group(
        "channels-last-max",
        "max f32, channels last",
        "最大 f32，channels last",
        Goal(1.3, 0.85),
        Goal(1.9, 1.2),
        """
* max 16x64x112x112 k2s2 channels_last
max 16x64x112x112 k3s2p1 channels_last
max 32x256x28x28 k3s1p1 channels_last
""",
    ),
    Group(
        "networks",
        "layers of networks, batch 8",
        "常见网络的池化层，批大小 8",
        None,
        None,
        """
* max 8x64x112x112 k3s2p1 | ResNet stem
avg 8x2048x7x7 k7 | ResNet head
* avg 8x128x56x56 k2s2 | DenseNet transition 1
avg 8x512x14x14 k2s2 | DenseNet transition 3
* avg 8x192x35x35 k3s1p1 | Inception v3 A
max 8x288x35x35 k3s2 | Inception v3 reduction A
avg 8x768x17x17 k3s1p1 | Inception v3 C
max 8x192x56x56 k3s2 | GoogLeNet pool 2
max 8x480x14x14 k3s1p1 | GoogLeNet 4a
max 8x64x256x256 k2s2 | U-Net level 1
max 8x256x64x64 k2s2 | U-Net level 3
aavg 8x512x2x7x7 o1x4x4 | C3D pool 5 as adaptive
aavg 8x1024x4x7x7 o1x1x1 | I3D head
""",
    ),
    Group(
        "odd-sizes",
        "odd sizes",
        "不规则尺寸",
        None,
        None,
        """
* avg 16x61x113x109 k3s2p1
avg 16x127x61x31 k3s1p1
avg 64x509x13x7 k3s2p1
avg 64x1021x31x2 k2s2
avg 64x16381x7x1 k1s1
max 16x61x113x109 k2s2
* max 16x127x61x31 k3s2p1
aavg 5x61x7x31x29 o3x11x13
""",
    ),
    Group(
        "strided-views",
        "non-contiguous views",
        "非连续视图",
        None,
        None,
        """
* avg 16x64x112x112 k3s2p1 cropped
avg 16x64x112x112 k2s2 every_second
avg 16x64x112x112 k3s1p1 transposed
* max 16x64x112x112 k2s2 cropped
max 16x64x112x112 k3s2p1 transposed
""",
    ),
    Group(
        "int32-indices",
        "max with int32 indices (torch: int64)",
        "最大，int32 索引（torch 为 int64）",
        None,
        None,
        """
* max 16x64x112x112 k2s2 int32
max 32x256x28x28 k3s1p1 int32
amax 16x64x112x112 o50x37 int32
""",
    ),
)
