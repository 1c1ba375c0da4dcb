"""What an operator says of itself. Everything that poolgrad does with it is derived from this description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .checks import closing, opening
from .engine import Call, Check
from .parameters import Parameter, Role, snake_case
from .pooling import gradient_of_input

if TYPE_CHECKING:
    from ..base.products import Product
    from ..base.tensor import Tensor
    from ..base.windows import Windows
    from ..cases.suite import Suite
    from ..plans.limits import Limits
    from ..plans.plan import Plan


@dataclass(frozen=True, slots=True)
class Sample:
    """The program of an operator's document: shapes of the tensors, their values, and what it prints.

    Tensors without values are those that are only described, or computed. Everything is by documented names.
    """

    shapes: Mapping[str, tuple[int, ...]]
    values: Mapping[str, Sequence[float]]
    numbers: Mapping[str, Any]
    results: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class GraphOperator:
    """An operator of graphs (IR) that computes the same: what it calls its tensors and attributes, by their roles.

    ``words`` are attributes that no parameter stands for; plugins/ir.py knows what they mean.
    """

    name: str
    names: Mapping[Role, str]
    words: tuple[str, ...] = ()
    needs_data_format: bool = False  # where tensors in ND may lie in either order


# What most of them call the numbers of windows.
IR_WINDOWS = {Role.KERNEL: "ksize", Role.STRIDE: "strides", Role.PADDING: "pads", Role.CEIL_MODE: "ceil_mode"}
IR_MAXIMA = {Role.INPUT: "x", Role.GRADIENT: "grad", Role.INDICES: "argmax"}
# Those that have a depth, and serve operators without one too.
ADAPTIVE_MAX_POOL_3D_GRAD = GraphOperator("AdaptiveMaxPool3DGrad", IR_MAXIMA)
AVG_POOL_3D_GRAD = GraphOperator(
    "AvgPool3DGrad",
    {Role.INPUT: "orig_input_shape", Role.GRADIENT: "grads"}
    | IR_WINDOWS
    | {Role.COUNT_INCLUDE_PAD: "count_include_pad", Role.DIVISOR: "divisor_override"},
    words=("data_format",),
    needs_data_format=True,
)


@dataclass(frozen=True, eq=False)
class Operator:
    """An aclnn operator: who it is, what it takes, what is allowed, and how a legal call becomes a plan."""

    name: str
    summary: str  # what it computes, for the first line of help
    header: str  # below aclnnop/
    axes: str  # the letters of the pooled axes: "HW" or "DHW"
    parameters: tuple[Parameter, ...]
    products: tuple[Product, ...]
    default_format: str  # of tensors whose format nobody names, with a batch
    windows: Callable[[Call], tuple[Windows, ...]] = field(repr=False)
    rows: tuple[Check, ...] = field(repr=False)  # between those that every operator begins and ends with
    # Of a call, the number of threads, limits (None: the machine's) and the name of a way ("": the fastest).
    planner: Callable[[Call, int, Limits | None, str], Plan] = field(repr=False)
    suite: Callable[[Suite], None] = field(repr=False)  # adds cases that usual suites leave out
    sample: Sample = field(repr=False)
    # Rows that stand before null pointers, some of these among them; all others come next.
    first_rows: tuple[Check, ...] = field(default=(), repr=False)
    # What results are like that nobody gave, as far as the call's other arguments tell.
    results: Callable[[Call], tuple[Tensor, ...]] = field(default=gradient_of_input, repr=False)
    format_without_batch: str = ""  # of such tensors without one, if it is another one
    channels_last: str = ""  # the format that it takes with channels last, if it does
    # What the first tensor is rounded to before anything else ("computed in X"); None where the product refuses that.
    rounding: Callable[[Call], str | None] = field(default=lambda call: "kept", repr=False)
    torch: str = ""  # the function of torch.nn.functional whose gradient it is
    slips: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # of the document, and how they are read
    # Names of parameters in ATK's files, where they are not the documented ones.
    atk_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Whether these files have an output_size, and the forward pass's output in the place of the gradient.
    atk_has_output_size: bool = False
    # The operators of graphs whose names msOpST's cases may have.
    ir: tuple[GraphOperator, ...] = field(default=(), repr=False)

    @cached_property
    def python_name(self) -> str:
        return snake_case(self.name.removeprefix("aclnn"))

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """All rows in their order."""
        first = opening(self.parameters, self.products, self.first_rows)
        return (*first, *self.rows, *closing(self.parameters))

    @cached_property
    def tensors(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.kind == "tensor")

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        """The tensors that are given."""
        return tuple(p for p in self.tensors if not p.output)

    @cached_property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.tensors if p.output)

    @cached_property
    def numbers(self) -> tuple[Parameter, ...]:
        """All that is no tensor."""
        return tuple(p for p in self.parameters if p.kind != "tensor")

    @cached_property
    def by_role(self) -> Mapping[Role, Parameter]:
        return {p.role: p for p in self.parameters}

    @cached_property
    def is_gradient(self) -> bool:
        """Whether it computes a gradient; if not, it pools."""
        return Role.GRADIENT in self.by_role

    @cached_property
    def averages(self) -> bool:
        """Whether windows are averaged. Only maxima have places, and only their windows may have gaps."""
        return not {Role.INDICES, Role.PLACES, Role.MASK, Role.DILATION} & set(self.by_role)

    def usual_format(self, rank: int) -> str:
        """The format of a tensor of some rank, if nobody names it."""
        return (rank == len(self.axes) + 1 and self.format_without_batch) or self.default_format

    def checks_on(self, product: Product) -> tuple[Check, ...]:
        """The rows that hold on a product, in their order."""
        return tuple(check for check in self.checks if product in check.on)
