"""What is measured: cases as lines of text, in groups that carry their targets.

A line reads ``call [dtype] [layout] [indices] [direction] [| where it comes from]``, with a call as ``lines.py`` reads
it; a star in front puts it into the quick run as well. A gradient is meant if the direction is neither ``forward`` nor
``both``, which is a forward pass and then a gradient.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from poolgrad.contract.operator import Operator
from poolgrad.operators import forward_of

from .lines import Line, read

ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2}
INDEX_ITEMSIZE = {"int64": 8, "int32": 4}
DIRECTIONS = ("backward", "forward", "both")
LAYOUTS = ("contiguous", "channels_last", "cropped", "every_second", "transposed")


@dataclass(frozen=True)
class Case(Line):
    """One call: everything about its tensors and parameters."""

    dtype: str = "float32"
    layout: str = "contiguous"
    index_dtype: str = "int64"
    direction: str = "backward"
    source: str = ""
    quick: bool = False

    @property
    def name(self) -> str:
        """Short, as results have it: ``avg 8x64x112x112 k3s2p1``."""
        _, _, *words = self.text.split()
        parts = ["x".join(map(str, self.x_shape)), "".join(words).replace(",", "x")]
        parts += [part for part in (self.dtype, self.layout) if part not in ("float32", "contiguous")]
        parts += ["int32"] if self.index_dtype == "int32" else []
        parts += [self.direction] if self.direction != "backward" else []
        return " ".join([self.operator, *parts]) + (f" ({self.source})" if self.source else "")

    @property
    def parameters(self) -> tuple[tuple[int, ...], ...]:
        """Kernel, stride and padding, each along all axes; nothing for adaptive windows, which have none."""
        return () if self.adaptive else (self.kernel, self.stride, self.padding)

    @property
    def forward(self) -> Operator:
        """The operator whose gradient the case names."""
        operator = forward_of(self.described)
        assert operator is not None, self.described.name
        return operator

    @property
    def pools(self) -> bool:
        return self.direction != "backward"

    @property
    def spreads(self) -> bool:
        """Whether there is a gradient in it."""
        return self.direction != "forward"

    @property
    def _bytes_of_elements(self) -> int:
        """Of the input, and of its gradient."""
        return math.prod(self.x_shape) * ITEMSIZE[self.dtype]

    @property
    def _bytes_of_windows(self) -> int:
        """Of the forward output, or of its gradient, and for max pooling of the indices."""
        indices = 0 if self.averages else INDEX_ITEMSIZE[self.index_dtype]
        return math.prod(self.grad_shape) * (ITEMSIZE[self.dtype] + indices)

    @property
    def bytes_read(self) -> int:
        """What any implementation has to read."""
        return self.pools * self._bytes_of_elements + self.spreads * self._bytes_of_windows

    @property
    def bytes_written(self) -> int:
        return self.pools * self._bytes_of_windows + self.spreads * self._bytes_of_elements


def parse(line: str) -> Case:
    """A case from its line."""
    text, _, source = line.partition("|")
    fields, words = read(text.lstrip("* "))
    kinds = {"dtype": ITEMSIZE, "layout": LAYOUTS, "index_dtype": INDEX_ITEMSIZE, "direction": DIRECTIONS}
    for word in words:
        kind = next((kind for kind, known in kinds.items() if word in known), None)
        if kind is None:
            raise ValueError(f"no such case: {line!r}")
        fields[kind] = word
    fields["text"] = " ".join(word for word in fields["text"].split() if word not in words)
    return Case(**fields, source=source.strip(), quick=text.startswith("*"))


def with_words(words: str, lines: str) -> str:
    """The lines with these words after each call."""
    calls = (line.partition("|") for line in lines.strip().splitlines())
    return "\n".join(f"{call.strip()} {words} {bar}{source}" for call, bar, source in calls)


@dataclass(frozen=True)
class Goal:
    """How many times as fast as torch on all threads: the geometric mean of a group, and its slowest case.

    ``share`` is the least share of the memory limit that any of its cases should reach, if that was promised.
    """

    mean: float
    worst: float | None = None
    share: float | None = None


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


# Of these there are groups in both half precisions.
HALF_AVERAGES = """
* avg n16c64h112w112 k2 s2
avg n16c64h112w112 k3 s2 p1
avg n8c64h112w112 k3 s1 p1
* avg n4c64h56w56 k7 s1 p3
avg n32c256h28w28 k3 s2 p1
"""
HALF_ADAPTIVE_AVERAGES = """
* aavg n4c64d16h56w56 o8,28,28
aavg n4c64d16h56w56 o5,17,19
aavg n8c1024d8h7w7 o1,1,1
aavg n8c64d4h14w14 o8,28,28
"""
# Of these in all types and layouts.
FORWARD_AVERAGES = """
* avg n16c64h112w112 k2 s2
avg n32c128h56w56 k2 s2
avg n1c64h56w56 k2 s2
* avg n16c64h112w112 k3 s2 p1
avg n8c64h112w112 k3 s1 p1
avg n32c256h28w28 k3 s1 p1
avg n4c64h56w56 k7 s1 p3
avg n64c2048h7w7 k7
"""
FORWARD_MAXIMA = """
* max n16c64h112w112 k2 s2
max n32c128h56w56 k2 s2
max n1c64h56w56 k2 s2
* max n16c64h112w112 k3 s2 p1 | ResNet stem
max n32c64h55w55 k3 s2 | AlexNet
max n32c256h28w28 k3 s1 p1
max n64c2048h7w7 k2 s2
"""
FORWARD_ADAPTIVE_AVERAGES = """
* aavg2 n64c2048h7w7 o1,1 | ResNet head
aavg2 n32c512h14w14 o7,7 | VGG head
aavg2 n16c64h112w112 o50,37
aavg n4c64d16h56w56 o8,28,28 | C3D pool 2
aavg n8c1024d8h7w7 o1,1,1 | I3D head
"""
# Nothing less than torch's speed is good enough for those whose goals nobody has set.
AS_FAST, FASTER = Goal(1.0, 1.0), Goal(1.5, 1.2)
GROUPS = (
    Group(
        "avg-strided",
        "average f32, strided",
        "平均 f32，步长大于 1",
        Goal(5, 3.3),
        Goal(7, 4.5),
        """
* avg n8c64h112w112 k2 s2
avg n16c64h224w224 k2 s2
avg n32c128h56w56 k2 s2
avg n32c256h28w28 k2 s2
avg n1c64h56w56 k2 s2
* avg n16c64h112w112 k3 s2 p1
avg n8c32h224w224 k3 s2 p1
avg n32c128h56w56 k3 s2 p1
* avg n32c256h28w28 k3 s2 p1
avg n4c64h56w56 k3 s2 p1
avg n8c32h224w224 k5 s3
avg n16c64h112w112 k5 s3
avg n16c64h112w112 k3 s3
avg n32c256h28w28 k3 s3
""",
    ),
    Group(
        "avg-overlapping",
        "average f32, overlapping",
        "平均 f32，窗口重叠",
        Goal(20, 9),
        Goal(40, 16),
        """
* avg n8c64h112w112 k3 s1 p1
avg n32c256h28w28 k3 s1 p1
avg n1c64h56w56 k3 s1 p1
* avg n8c64h112w112 k7 s1 p3
avg n4c64h56w56 k7 s1 p3
avg n4c64h56w56 k15 s1 p7
avg n1c64h112w112 k31 s1 p15
""",
    ),
    Group(
        "avg-fill",
        "average f32, fill-like",
        "平均 f32，近似填充",
        Goal(2.2, 1.0),
        Goal(3.2, 1.4),
        """
avg n16c64h117w117 k13 s13
* avg n16c64h112w112 k1 s4
avg n64c2048h7w7 k7
* avg n32c128h56w56 k56
avg n8c32h224w224 k224
avg n1c64h56w56 k56
""",
    ),
    Group(
        "avg-7x7",
        "average f32, 7×7 planes",
        "平均 f32，7×7 平面",
        Goal(3, 1.3),
        Goal(6, 2.5),
        """
* avg n64c2048h7w7 k2 s2
avg n64c2048h7w7 k3 s1 p1
avg n64c2048h7w7 k3 s2 p1
* avg n64c2048h7w7 k7
avg n8c512h7w7 k3 s1 p1
""",
    ),
    Group(
        "avg-one-plane",
        "average f32, one plane of 8192²",
        "平均 f32，单个 8192² 平面",
        Goal(22, 12),
        Goal(38, 20),
        """
* avg n1c1h8192w8192 k2 s2
avg n1c1h8192w8192 k3 s1 p1
avg n1c1h8192w8192 k3 s2 p1
""",
    ),
    Group(
        "avg-f16",
        "average f16",
        "平均 f16",
        Goal(14, 5.5),
        Goal(28, 11),
        with_words("float16", HALF_AVERAGES),
    ),
    Group(
        "avg-bf16",
        "average bf16",
        "平均 bf16",
        Goal(17, 7),
        Goal(33, 13),
        with_words("bfloat16", HALF_AVERAGES),
    ),
    Group(
        "aavg-f32",
        "adaptive average 3-D f32",
        "自适应平均 3-D f32",
        Goal(2.8, 1.0),
        Goal(4.5),
        """
* aavg n4c64d16h56w56 o8,28,28 | C3D pool2
aavg n8c512d4h14w14 o2,7,7
* aavg n4c64d16h56w56 o5,17,19
aavg n8c512d5h15w13 o2,7,7
aavg n8c1024d8h7w7 o1,1,1 | I3D head
aavg n4c64d16h56w56 o1,1,1
aavg n8c64d4h14w14 o8,28,28
""",
    ),
    Group(
        "aavg-f16",
        "adaptive average 3-D f16",
        "自适应平均 3-D f16",
        Goal(19, 9),
        Goal(38),
        with_words("float16", HALF_ADAPTIVE_AVERAGES),
    ),
    Group(
        "aavg-bf16",
        "adaptive average 3-D bf16",
        "自适应平均 3-D bf16",
        Goal(5.3, 2.2),
        Goal(11),
        with_words("bfloat16", HALF_ADAPTIVE_AVERAGES),
    ),
    Group(
        "avg3-f32",  # torch has no such gradient in float16 and bfloat16
        "average 3-D f32",
        "平均 3-D f32",
        None,
        None,
        """
* avg3 n4c64d16h56w56 k2 s2 | C3D pool 2 as average
avg3 n8c512d4h14w14 k2 s2 | C3D pool 4 as average
* avg3 n2c64d16h56w56 k3 s1 p1 | I3D Inception branch
avg3 n8c192d8h28w28 k3 s1 p1 | I3D Inception branch 3b
avg3 n1c32d32h112w112 k3 s1 p1
* avg3 n2c64d32h112w112 k3 s2 p1 | 3D-ResNet stem
avg3 n2c64d16h56w56 k3 s2 p1
avg3 n8c32d8h28w28 k3 s2 p1
avg3 n8c1024d7h7w7 k7 | 3D-ResNet head
""",
    ),
    Group(
        "aavg2",
        "adaptive average 2-D (torch: no out=)",
        "自适应平均 2-D（torch 无 out=）",
        None,
        None,
        """
* aavg2 n64c2048h7w7 o1,1 | ResNet head
aavg2 n32c512h14w14 o7,7 | VGG head
* aavg2 n16c64h112w112 o56,56
aavg2 n16c64h112w112 o50,37
aavg2 n8c512h60w60 o6,6 | PSPNet pyramid
aavg2 n64c2048h7w7 o1,1 float16 | ResNet head
aavg2 n16c64h112w112 o50,37 float16
aavg2 n64c2048h7w7 o1,1 bfloat16 | ResNet head
aavg2 n16c64h112w112 o50,37 bfloat16
""",
    ),
    Group(
        "max-disjoint",
        "max k = s, f32, int64",
        "最大 k = s，f32，int64",
        Goal(1.8, 1.4),
        Goal(2.5, 2.0),
        """
* max n16c64h112w112 k2 s2
max n8c64h224w224 k2 s2
* max n32c128h56w56 k2 s2
max n1c64h56w56 k2 s2
max n16c64h112w112 k3 s3
""",
    ),
    Group(
        "max-overlapping",
        "max overlapping, f32, int64",
        "最大，窗口重叠，f32，int64",
        Goal(1.6, 1.3),
        Goal(2.3, 1.8),
        """
* max n16c64h112w112 k3 s2 p1 | ResNet stem
max n32c64h55w55 k3 s2 | AlexNet
* max n32c256h28w28 k3 s1 p1
max n1c64h112w112 k3 s2 p1
""",
    ),
    Group(
        "max-half-disjoint",
        "max f16/bf16, k = s",
        "最大 f16/bf16，k = s",
        Goal(1.8),
        Goal(2.7),
        """
* max n16c64h112w112 k2 s2 float16
max n32c128h56w56 k2 s2 float16
max n16c64h112w112 k2 s2 bfloat16
max n32c128h56w56 k2 s2 bfloat16
""",
    ),
    Group(
        "max-half-overlapping",
        "max f16/bf16, overlapping",
        "最大 f16/bf16，窗口重叠",
        Goal(1.05),
        Goal(1.6),
        """
* max n16c64h112w112 k3 s2 p1 float16
max n32c256h28w28 k3 s1 p1 float16
max n16c64h112w112 k3 s2 p1 bfloat16
max n32c256h28w28 k3 s1 p1 bfloat16
""",
    ),
    Group(
        "amax-f32",
        "adaptive max f32",
        "自适应最大 f32",
        Goal(1.6, 1.3),
        Goal(2.2, 1.8),
        """
* amax n16c64h112w112 o56,56
amax n32c512h14w14 o7,7
* amax n16c64h112w112 o50,37
amax n32c256h28w28 o5,5
""",
    ),
    Group(
        "max3-f32",
        "max 3-D f32, int32 (torch: int64)",
        "最大 3-D f32，int32（torch 为 int64）",
        None,
        None,
        """
* max3 n2c64d16h56w56 k3 s2 p1 int32 | 3D-ResNet stem
max3 n2c64d16h112w112 k3 s2 p1 int32
max3 n2c64d16h112w112 k1,2,2 int32 | C3D pool 1
* max3 n2c128d16h56w56 k2 s2 int32 | C3D pool 2
max3 n8c512d4h14w14 k2 s2 int32 | C3D pool 4
max3 n1c64d32h112w112 k1,3,3 s1,2,2 p0,1,1 int32 | I3D pool 1
max3 n1c480d32h28w28 k3 s2 p1 int32 | I3D pool 3
* max3 n1c192d32h28w28 k3 s1 p1 int32 | I3D mixed 3b
max3 n1c832d8h7w7 k3 s1 p1 int32 | I3D mixed 5b
""",
    ),
    Group(
        "max3-half",
        "max 3-D f16/bf16, int32 (torch: int64)",
        "最大 3-D f16/bf16，int32（torch 为 int64）",
        None,
        None,
        """
* max3 n2c64d16h56w56 k3 s2 p1 float16 int32 | 3D-ResNet stem
max3 n2c128d16h56w56 k2 s2 float16 int32 | C3D pool 2
max3 n1c192d32h28w28 k3 s1 p1 float16 int32 | I3D mixed 3b
max3 n2c64d16h56w56 k3 s2 p1 bfloat16 int32 | 3D-ResNet stem
max3 n2c128d16h56w56 k2 s2 bfloat16 int32 | C3D pool 2
max3 n1c192d32h28w28 k3 s1 p1 bfloat16 int32 | I3D mixed 3b
""",
    ),
    Group(
        "amax3",
        "adaptive max 3-D, int32 (torch: int64)",
        "自适应最大 3-D，int32（torch 为 int64）",
        None,
        None,
        """
* amax3 n4c64d16h56w56 o8,28,28 int32 | C3D pool 2
amax3 n4c64d16h56w56 o5,17,19 int32
amax3 n8c1024d8h7w7 o1,1,1 int32 | I3D head
amax3 n4c64d16h56w56 o8,28,28 float16 int32 | C3D pool 2
amax3 n4c64d16h56w56 o8,28,28 bfloat16 int32 | C3D pool 2
""",
    ),
    Group(
        "max-7x7",
        "max, 7×7 planes",
        "最大，7×7 平面",
        Goal(1.0, 0.9),
        Goal(1.5, 1.2),
        """
* max n64c2048h7w7 k2 s2
max n64c2048h7w7 k3 s2 p1
max n64c2048h7w7 k3 s1 p1
max n64c2048h7w7 k7
""",
    ),
    Group(
        "channels-last-avg",
        "average f32, channels last",
        "平均 f32，channels last",
        Goal(1.8, 1.1),
        Goal(2.6, 1.4),
        """
* avg n16c64h112w112 k2 s2 channels_last
avg n16c64h112w112 k3 s2 p1 channels_last
* avg n32c256h28w28 k3 s1 p1 channels_last
avg n8c64h56w56 k7 s1 p3 channels_last
avg n64c2048h7w7 k7 channels_last
""",
    ),
    Group(
        "channels-last-max",
        "max f32, channels last",
        "最大 f32，channels last",
        Goal(1.3, 0.85),
        Goal(1.9, 1.2),
        """
* max n16c64h112w112 k2 s2 channels_last
max n16c64h112w112 k3 s2 p1 channels_last
max n32c256h28w28 k3 s1 p1 channels_last
""",
    ),
    Group(
        "networks",
        "layers of networks, batch 8",
        "常见网络的池化层，批大小 8",
        None,
        None,
        """
* max n8c64h112w112 k3 s2 p1 | ResNet stem
avg n8c2048h7w7 k7 | ResNet head
* avg n8c128h56w56 k2 s2 | DenseNet transition 1
avg n8c512h14w14 k2 s2 | DenseNet transition 3
* avg n8c192h35w35 k3 s1 p1 | Inception v3 A
max n8c288h35w35 k3 s2 | Inception v3 reduction A
avg n8c768h17w17 k3 s1 p1 | Inception v3 C
max n8c192h56w56 k3 s2 | GoogLeNet pool 2
max n8c480h14w14 k3 s1 p1 | GoogLeNet 4a
max n8c64h256w256 k2 s2 | U-Net level 1
max n8c256h64w64 k2 s2 | U-Net level 3
aavg n8c512d2h7w7 o1,4,4 | C3D pool 5 as adaptive
aavg n8c1024d4h7w7 o1,1,1 | I3D head
""",
    ),
    Group(
        "odd-sizes",
        "odd sizes",
        "不规则尺寸",
        None,
        None,
        """
* avg n16c61h113w109 k3 s2 p1
avg n16c127h61w31 k3 s1 p1
avg n64c509h13w7 k3 s2 p1
avg n64c1021h31w2 k2 s2
avg n64c16381h7w1 k1 s1
max n16c61h113w109 k2 s2
* max n16c127h61w31 k3 s2 p1
aavg n5c61d7h31w29 o3,11,13
""",
    ),
    Group(
        "strided-views",
        "non-contiguous views",
        "非连续视图",
        None,
        None,
        """
* avg n16c64h112w112 k3 s2 p1 cropped
avg n16c64h112w112 k2 s2 every_second
avg n16c64h112w112 k3 s1 p1 transposed
* max n16c64h112w112 k2 s2 cropped
max n16c64h112w112 k3 s2 p1 transposed
""",
    ),
    Group(
        "int32-indices",
        "max with int32 indices (torch: int64)",
        "最大，int32 索引（torch 为 int64）",
        None,
        None,
        """
* max n16c64h112w112 k2 s2 int32
max n32c256h28w28 k3 s1 p1 int32
amax n16c64h112w112 o50,37 int32
""",
    ),
    Group(
        "fwd-avg-f32",
        "forward: average f32",
        "正向：平均 f32",
        Goal(3, 1.0),
        Goal(5, 1.5),
        with_words("forward", FORWARD_AVERAGES),
    ),
    Group(
        "fwd-avg-f16",
        "forward: average f16",
        "正向：平均 f16",
        Goal(5, 1.0),
        Goal(8, 1.5),
        with_words("float16 forward", FORWARD_AVERAGES),
    ),
    Group(
        "fwd-avg-bf16",
        "forward: average bf16",
        "正向：平均 bf16",
        Goal(5, 1.0),
        Goal(8, 1.5),
        with_words("bfloat16 forward", FORWARD_AVERAGES),
    ),
    Group(
        "fwd-avg-channels-last",
        "forward: average, channels last",
        "正向：平均，channels last",
        AS_FAST,
        FASTER,
        "\n".join(with_words(f"{dtype} channels_last forward", FORWARD_AVERAGES) for dtype in ITEMSIZE),
    ),
    Group(
        "fwd-aavg",
        "forward: adaptive average",
        "正向：自适应平均",
        AS_FAST,
        FASTER,
        "\n".join(with_words(f"{dtype} forward", FORWARD_ADAPTIVE_AVERAGES) for dtype in ITEMSIZE),
    ),
    Group(
        "fwd-avg3-f32",  # torch has no such forward pass in float16 and bfloat16
        "forward: average 3-D f32",
        "正向：平均 3-D f32",
        AS_FAST,
        FASTER,
        """
* avg3 n4c64d16h56w56 k2 s2 forward | C3D pool 2 as average
avg3 n2c64d16h56w56 k3 s1 p1 forward | I3D Inception branch
avg3 n2c64d32h112w112 k3 s2 p1 forward | 3D-ResNet stem
avg3 n8c1024d7h7w7 k7 forward | 3D-ResNet head
""",
    ),
    Group(
        "fwd-max-f32",
        "forward: max f32, int64",
        "正向：最大 f32，int64",
        AS_FAST,
        FASTER,
        with_words("forward", FORWARD_MAXIMA),
    ),
    Group(
        "fwd-max-half",
        "forward: max f16/bf16, int64",
        "正向：最大 f16/bf16，int64",
        AS_FAST,
        FASTER,
        "\n".join(with_words(f"{dtype} forward", FORWARD_MAXIMA) for dtype in ("float16", "bfloat16")),
    ),
    Group(
        "fwd-max-channels-last",
        "forward: max, channels last",
        "正向：最大，channels last",
        AS_FAST,
        FASTER,
        "\n".join(with_words(f"{dtype} channels_last forward", FORWARD_MAXIMA) for dtype in ITEMSIZE),
    ),
    Group(
        "fwd-amax",
        "forward: adaptive max, int64",
        "正向：自适应最大，int64",
        AS_FAST,
        FASTER,
        """
* amax n16c64h112w112 o56,56 forward
amax n32c512h14w14 o7,7 forward
amax n16c64h112w112 o50,37 forward
amax n16c64h112w112 o56,56 float16 forward
amax n16c64h112w112 o56,56 bfloat16 forward
* amax3 n4c64d16h56w56 o8,28,28 forward | C3D pool 2
amax3 n4c64d16h56w56 o5,17,19 forward
amax3 n8c1024d8h7w7 o1,1,1 forward | I3D head
""",
    ),
    Group(
        "fwd-max3",
        "forward: max 3-D, int64",
        "正向：最大 3-D，int64",
        AS_FAST,
        FASTER,
        """
* max3 n2c64d16h56w56 k3 s2 p1 forward | 3D-ResNet stem
max3 n2c64d16h112w112 k1,2,2 forward | C3D pool 1
* max3 n2c128d16h56w56 k2 s2 forward | C3D pool 2
max3 n1c64d32h112w112 k1,3,3 s1,2,2 p0,1,1 forward | I3D pool 1
max3 n1c192d32h28w28 k3 s1 p1 forward | I3D mixed 3b
max3 n2c128d16h56w56 k2 s2 float16 forward | C3D pool 2
max3 n2c128d16h56w56 k2 s2 bfloat16 forward | C3D pool 2
""",
    ),
    Group(
        "fwd-limit",
        "forward: k ≤ 3, planes ≥ 56², beyond L3",
        "正向：k ≤ 3，平面 ≥ 56²，超出 L3",
        Goal(1.0, 1.0, 0.6),
        Goal(1.5, 1.2, 0.75),
        """
* avg n16c64h112w112 k2 s2 forward
avg n16c64h112w112 k3 s2 p1 forward
avg n16c64h112w112 k3 s1 p1 forward
avg n64c64h56w56 k2 s2 forward
avg n32c64h112w112 k2 s2 float16 forward
avg n32c64h112w112 k3 s2 p1 bfloat16 forward
* max n16c64h112w112 k2 s2 forward
max n16c64h112w112 k3 s2 p1 forward
max n64c64h56w56 k3 s1 p1 forward
max n32c64h112w112 k2 s2 float16 forward
max n32c64h112w112 k3 s2 p1 bfloat16 forward
""",
    ),
    Group(
        "both-networks",
        "layers of networks, forward and backward",
        "常见网络的池化层，正向加反向",
        AS_FAST,
        FASTER,
        """
* max n8c64h112w112 k3 s2 p1 both | ResNet stem
aavg2 n8c2048h7w7 o1,1 both | ResNet head
* max n8c64h224w224 k2 s2 both | VGG pool 1
max n8c256h56w56 k2 s2 both | VGG pool 3
max n8c512h14w14 k2 s2 both | VGG pool 5
* avg n8c192h35w35 k3 s1 p1 both | Inception v3 A
max n8c288h35w35 k3 s2 both | Inception v3 reduction A
avg n8c768h17w17 k3 s1 p1 both | Inception v3 C
avg n8c128h56w56 k2 s2 both | DenseNet transition 1
avg n8c512h14w14 k2 s2 both | DenseNet transition 3
max3 n2c64d16h112w112 k1,2,2 both | C3D pool 1
max3 n2c128d16h56w56 k2 s2 both | C3D pool 2
max3 n1c64d32h112w112 k1,3,3 s1,2,2 p0,1,1 both | I3D pool 1
max3 n1c192d32h28w28 k3 s1 p1 both | I3D mixed 3b
aavg n8c1024d4h7w7 o1,1,1 both | I3D head
""",
    ),
)
