"""A call from the words of a command line: tensors as files or as ``1,16,4,4:float16``, numbers as ``3`` or ``3,2``."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.dtypes import DTYPES, FORMATS, SHORT_NAMES
from ..contract.operator import Operator
from ..contract.parameters import Parameter
from ..operators import REGISTRY
from .terminal import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..cases.model import Case, CaseTensor

PANEL = "Parameters of the operator"
NULL = "null"
# What each number is, by its documented name; a test asks for a line for every parameter.
HELP = {
    "kernelSize": "Size of a window: one number, or H,W.",
    "stride": "Distance of windows: one number, or H,W; the kernel's size if absent.",
    "padding": "Padding on each side: one number, or H,W; 0 if absent.",
    "dilation": "Distance of a window's elements: one number, or H,W; 1 if absent.",
    "ceilMode": "Count windows that reach past the padded input; off if absent.",
    "countIncludePad": "Let padding count in divisors; on if absent.",
    "divisorOverride": "Divide by this instead of the window's size; 0, which is none, if absent.",
    "cubeMathType": "0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION, 2 USE_FP16, 3 USE_HF32; 0 if absent.",
}

Format = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="Format of all tensors, NHWC for instance.", show_default=False),
]
DType = Annotated[
    str | None,
    typer.Option(
        "--dtype", metavar="T", help="Type of the tensors, and of what a .bin file holds.", show_default=False
    ),
]
Shape = Annotated[
    str | None,
    typer.Option("--shape", metavar="SHAPE", help="Shape of what a .bin file holds.", show_default=False),
]
IndicesDType = Annotated[
    str | None,
    typer.Option("--indices-dtype", metavar="T", help="Type of the indices; int32 if absent.", show_default=False),
]


def tensor_option(metavar: str, *names: str, help: str) -> Any:
    """The option of a tensor, by a file or a description of it."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


@dataclass(frozen=True)
class Line:
    """What a line says of a call: texts of the tensors by Python names, numbers likewise, and what holds for all."""

    operator: Operator
    tensors: Mapping[str, str | None]
    numbers: Mapping[str, Any]
    dtype: str | None = None
    indices_dtype: str | None = None
    format: str | None = None
    shape: str | None = None  # of what .bin files hold
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)  # of the files that were named, by documented names

    def case(self) -> Case:
        """The whole call, with the defaults of the Pythonic layer where the line is silent."""
        from ..cases.building import make_case
        from ..cases.model import BadCase

        self._refuse_strangers()
        numbers = {
            p.name: self.numbers[p.python_name] for p in self.operator.parameters if p.python_name in self.numbers
        }
        try:
            return make_case(
                self.operator, "the call", name="call", tensors=self._all_tensors(numbers), numbers=numbers
            )
        except BadCase as error:
            raise BadInput(self._by_options(str(error))) from error

    def _refuse_strangers(self) -> None:
        own = [p.python_name for p in self.operator.parameters]
        for name, value in {**self.tensors, **self.numbers}.items():
            if name not in own and (value is not None or name in self.numbers):
                has = ", ".join(map(_option, own))
                raise BadInput(f"{self.operator.name} has no {_option(name)}; it has {has}")

    def _all_tensors(self, numbers: Mapping[str, Any]) -> dict[str, CaseTensor | None]:
        given = {p.name: self._facts(p, text) for p in self.operator.tensors if (text := self._text(p)) is not None}
        if "self" not in given:
            raise BadInput("--x is missing: the shape of the forward input, such as 1,16,4,4")
        common = self._common(given)
        tensors = {name: self._made(name, common, facts) for name, facts in given.items()}
        if "gradOutput" not in tensors:
            shape = self._pooled(tensors["self"], numbers)
            tensors["gradOutput"] = self._made("gradOutput", common, {"shape": shape})
        grad = tensors["gradOutput"]
        if "indices" not in tensors and any(p.name == "indices" for p in self.operator.tensors):
            alike = None if grad is None else {"shape": grad.shape, "format": grad.format}
            tensors["indices"] = self._made("indices", common, alike)
        return tensors

    def _text(self, parameter: Parameter) -> str | None:
        return self.tensors.get(parameter.python_name)

    def _common(self, given: Mapping[str, dict[str, Any] | None]) -> dict[str, Any]:
        """What holds where a tensor does not say otherwise: what the line says for all, or else for the first one."""
        common = {"dtype": self.dtype, "format": self.format}
        for name, facts in given.items():
            for key in common:
                if common[key] is None and facts and not (key == "dtype" and name == "indices"):
                    common[key] = facts.get(key)
        return {"format": common["format"], "dtype": common["dtype"] or "float32"}

    def _made(self, name: str, common: dict[str, Any], facts: dict[str, Any] | None) -> CaseTensor | None:
        from ..cases.building import make_tensor

        if facts is None:
            return None
        dtype = {"dtype": self.indices_dtype or "int32"} if name == "indices" else {}
        merged = {**common, **dtype, **facts}
        merged["dtype"] = merged["dtype"].lower()
        merged["format"] = merged["format"] and merged["format"].upper()
        return make_tensor(self.operator, name, "the call", **merged)

    def _by_options(self, text: str) -> str:
        """A remark about a case, for somebody who typed options."""
        option_of = {p.name: option(p) for p in self.operator.parameters}
        text = text.removeprefix("the call: ")
        missing = re.fullmatch(r"there is no (\w+)", text)
        if missing:
            return f"{option_of[missing[1]]} is missing"
        name, _, rest = text.partition(": ")
        return f"{option_of[name]}: {rest}" if name in option_of else text

    def _facts(self, parameter: Parameter, text: str) -> dict[str, Any] | None:
        """What a tensor's text says of it; None for a null pointer."""
        if text.casefold() == NULL:
            return None
        if Path(text).suffix.lower() not in (".npy", ".bin"):
            return spec(text, option(parameter))
        array = self._read(parameter, text)
        steps = tuple(step // max(array.itemsize, 1) for step in array.strides)
        return {"dtype": array.dtype.name, "shape": array.shape, "strides": steps}

    def _read(self, parameter: Parameter, path: str) -> NDArray[Any]:
        from ..arrays.files import read_array

        raw = Path(path).suffix.lower() == ".bin"
        dtype = self.indices_dtype if parameter.name == "indices" else self.dtype
        shape = integers(self.shape, "--shape") if self.shape is not None and raw else None
        if raw and parameter.name == "indices":
            grad = self.arrays.get("gradOutput")
            dtype, shape = dtype or "int32", shape or (None if grad is None else grad.shape)
        if raw and (dtype is None or shape is None):
            raise BadInput(f"{path}: a .bin file does not say what it holds; give --dtype and --shape")
        array = self.arrays[parameter.name] = read_array(path, dtype=dtype, shape=shape)
        return array

    def _pooled(self, x: CaseTensor | None, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape that the windows give; where they give none, an earlier rule will refuse the call."""
        from ..cases.building import pooled_shape
        from ..cases.model import DEFAULT_NUMBERS

        if "kernelSize" not in {p.name for p in self.operator.parameters}:
            raise BadInput("--grad-output is missing: its shape, such as 1,16,2,2, says how many windows there are")
        if x is None:
            return (1, 1, 1, 1)
        return (pooled_shape(x, DEFAULT_NUMBERS | dict(numbers)) if "kernelSize" in numbers else None) or x.shape


def option(parameter: Parameter) -> str:
    """The option of a parameter.

    >>> option(Parameter("kernelSize", "ints", "kernel_size"))
    '--kernel-size'
    """
    return _option(parameter.python_name)


def _option(python_name: str) -> str:
    return "--" + python_name.replace("_", "-")


# How things are written.


def integers(text: str, where: str) -> tuple[int, ...]:
    """Integers with commas or an x between them, in brackets or not.

    >>> [integers(text, "--x") for text in ("1,16,4,4", "1x16x4x4", "[3]", "")]
    [(1, 16, 4, 4), (1, 16, 4, 4), (3,), ()]
    """
    inner = re.sub(r"^\((.*)\)$|^\[(.*)\]$", r"\1\2", text.strip()).strip().rstrip(",")
    parts = re.split(r"\s*[,x×]\s*|\s+", inner) if inner else []
    if not all(re.fullmatch(r"[+-]?\d{1,1000}", part) for part in parts):
        raise BadInput(f"{where}: expected integers such as 3 or 1,16,4,4, got {text!r}")
    return tuple(int(part) for part in parts)


def spec(text: str, where: str) -> dict[str, Any]:
    """A tensor's shape, then what else there is to say of it, in any order.

    >>> spec("1,16,4,4:float16:NHWC:strides=256,1,64,16", "--x")
    {'shape': (1, 16, 4, 4), 'dtype': 'float16', 'format': 'NHWC', 'strides': (256, 1, 64, 16)}
    """
    shape, *words = text.split(":")
    facts: dict[str, Any] = {"shape": integers(shape, where)}
    for word in words:
        key, equals, value = word.strip().partition("=")
        if equals and key in ("strides", "offset", "storage"):
            numbers = integers(value, f"{where}: {key}")
            facts[key] = numbers[0] if key == "offset" and len(numbers) == 1 else numbers
        elif word.strip() not in FORMATS and word.strip().lower() in (*DTYPES, *SHORT_NAMES):  # both have an UNDEFINED
            facts["dtype"] = word.strip().lower()
        elif word.strip().upper() in FORMATS:
            facts["format"] = word.strip().upper()
        else:
            raise BadInput(
                f"{where}: expected SHAPE[:DTYPE][:FORMAT][:strides=...] such as 1,16,4,4:float16:NCHW, got {word!r}"
            )
    return facts


def number_parameters() -> dict[str, Parameter]:
    """The numbers that any operator has, by their Python names."""
    return {p.python_name: p for operator in REGISTRY.values() for p in operator.parameters if p.kind != "tensor"}


def takes_numbers(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each number of any operator; those that were given come as its ``numbers``."""
    signature = inspect.signature(command, eval_str=True)
    wanted = number_parameters()

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        texts = {name: given.pop(name) for name in wanted}
        numbers = {name: _value(wanted[name], value) for name, value in texts.items() if value is not None}
        command(**given, numbers=numbers)

    own = [p for name, p in signature.parameters.items() if name != "numbers"]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(parameter))
        for name, parameter in wanted.items()
    ]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    del with_options.__wrapped__  # whose signature is another
    with_options.__signature__ = signature.replace(parameters=own + options)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in own + options}
    return with_options


def _annotation(parameter: Parameter) -> Any:
    kinds: dict[str, tuple[Any, str | None]] = {
        "ints": (str | None, "N[,N]"),
        "int": (int | None, "N"),
        "bool": (bool | None, None),
    }
    kind, metavar = kinds[parameter.kind]
    names = f"{option(parameter)}/--no-{option(parameter)[2:]}" if parameter.kind == "bool" else option(parameter)
    help = HELP.get(parameter.name, parameter.name)
    return Annotated[kind, typer.Option(names, help=help, metavar=metavar, rich_help_panel=PANEL, show_default=False)]


def _value(parameter: Parameter, given: Any) -> Any:
    if parameter.kind != "ints":
        return given
    return None if given.casefold() == NULL else integers(given, option(parameter))
