"""A call from the words of a command line: tensors as files or as ``1,16,4,4:float16``, numbers as ``3`` or ``3,2``."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.dtypes import DTYPES, FORMATS, SHORT_NAMES
from ..base.products import ANY, Product
from ..contract.operator import Operator
from ..contract.parameters import Parameter, Role
from ..contract.support import OF_PLACES
from ..operators import REGISTRY
from .terminal import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..cases.model import Case, CaseTensor

PANEL = "Parameters of the operator"
NULL = "null"

# Options that say something of all tensors: their metavar and help.
COMMON = {
    "dtype": ("T", "Type of the tensors, and of what a .bin file holds."),
    "shape": ("SHAPE", "Shape of what a .bin file holds."),
    "indices_dtype": (
        "T",
        "Type of the indices; if absent, int32 of those given, and of those found int64 or the product's.",
    ),
    "format": ("F", "Format of all tensors, NHWC for instance."),
}


@dataclass(frozen=True)
class Line:
    """What a line says of a call: texts of the tensors by Python names, numbers likewise, and what holds for all.

    All outputs have one Python name, and so a list of texts.
    """

    operator: Operator
    tensors: Mapping[str, Any]
    numbers: Mapping[str, Any]
    dtype: str | None = None
    indices_dtype: str | None = None
    format: str | None = None
    shape: str | None = None  # of what .bin files hold
    reads: bool = True  # whether anybody asks for the values that files hold, and not only what these are like
    fill_missing: bool = False  # whether chunks that a store lacks are meant
    arrays: dict[str, Any] = field(default_factory=dict)  # of the files that were named, by documented names

    def case(self, product: Product = ANY) -> Case:
        """The whole call, with the defaults of the Pythonic layer where the line is silent."""
        from ..cases.building import make_case
        from ..cases.model import BadCase

        self._refuse_strangers()
        numbers = self._own_numbers()
        try:
            tensors, name = self._all_tensors(numbers), None if product is ANY else product.name
            case = make_case(self.operator, "the call", name="call", tensors=tensors, numbers=numbers, product=name)
            return self._with_told_places(case, tensors, product)
        except BadCase as error:
            raise BadInput(self._by_options(str(error))) from error

    def _with_told_places(self, case: Case, tensors: Mapping[str, CaseTensor | None], product: Product) -> Case:
        """The case; of indices that it finds, and the line says nothing else of, with the type that the line names, or
        that of the Pythonic layer."""
        from ..cases.building import results_on

        places = self.operator.by_role.get(Role.PLACES)
        if places is None or places.name in tensors or case.tensors[places.name] is None:
            return case
        like = results_on(self.operator, case.tensors, case.numbers, product)[places.name]
        if like and self.indices_dtype is not None:
            like = self._made(places, {}, {"shape": like.shape, "format": like.format})
        return replace(case, tensors={**case.tensors, places.name: like})

    def _own_numbers(self) -> dict[str, Any]:
        """The numbers by documented names. As in Python, one size stands for all axes."""
        given = {p: self.numbers[p.python_name] for p in self.operator.numbers if p.python_name in self.numbers}
        alone = {p for p, value in given.items() if p.kind == "ints" and isinstance(value, int)}
        return {p.name: (value,) * len(self.operator.axes) if p in alone else value for p, value in given.items()}

    def _refuse_strangers(self) -> None:
        own = [p.python_name for p in self.operator.parameters]
        for name in (*self.tensors, *self.numbers):
            if name not in own:
                has = ", ".join(map(_option, own))
                raise BadInput(f"{self.operator.name} has no {_option(name)}; it has {has}")

    def _all_tensors(self, numbers: Mapping[str, Any]) -> dict[str, CaseTensor | None]:
        """What the line says, and what the windows and the gradient say of the gradient and its indices."""
        from ..cases.building import mask_of

        operator, by_role = self.operator, self.operator.by_role
        x = by_role[Role.INPUT]
        given = {p: self._facts(p, text) for p in operator.tensors if (text := self._text(p)) is not None}
        if x not in given:
            raise BadInput(f"{option(x)} is missing: the shape of the forward input, such as 1,16,4,4")
        common = self._common(given)
        tensors = {p: self._made(p, common, facts) for p, facts in given.items()}
        gradient, indices = by_role.get(Role.GRADIENT), by_role.get(Role.INDICES)
        if gradient and gradient not in tensors:
            tensors[gradient] = self._made(gradient, common, {"shape": self._pooled(tensors[x], numbers)})
        if gradient and indices and indices not in tensors:
            like = tensors[gradient]
            facts = None if like is None else {"shape": like.shape, "format": like.format}
            tensors[indices] = self._made(indices, common, facts)
        mask = by_role.get(Role.MASK)
        if mask and not mask.output and mask not in tensors:
            tensors[mask] = mask_of(operator, tensors[x], numbers)
        return {p.name: tensor for p, tensor in tensors.items()}

    def _text(self, parameter: Parameter) -> str | None:
        """What the line says of a tensor; outputs share an option, and of too many the last ones count."""
        text = self.tensors.get(parameter.python_name)
        if text is None or not parameter.output:
            return text
        sharing = [p for p in self.operator.outputs if p.python_name == parameter.python_name]
        return dict(zip(sharing, text[-len(sharing) :], strict=False)).get(parameter)

    def _common(self, given: Mapping[Parameter, dict[str, Any] | None]) -> dict[str, Any]:
        """What holds where a tensor does not say otherwise: what the line says for all, or else for the first one."""
        common = {"dtype": self.dtype, "format": self.format}
        for parameter, facts in given.items():
            for key in common:
                if common[key] is None and facts and not (key == "dtype" and parameter.role in OF_PLACES):
                    common[key] = facts.get(key)
        return {"format": common["format"], "dtype": common["dtype"] or "float32"}

    def _told_type(self, parameter: Parameter) -> str | None:
        """The type that the line has a word for, if it is there."""
        return self.indices_dtype if parameter.role in OF_PLACES else self.dtype

    def _own_type(self, parameter: Parameter) -> str | None:
        """The type of a tensor that does not hold the numbers that are pooled."""
        return (self._told_type(parameter) or parameter.dtype) if parameter.role in OF_PLACES else None

    def _made(self, parameter: Parameter, common: dict[str, Any], facts: dict[str, Any] | None) -> CaseTensor | None:
        from ..cases.building import make_tensor

        if facts is None:
            return None
        own = self._own_type(parameter)
        merged = {**common, **({"dtype": own} if own else {}), **facts}
        merged["dtype"] = merged["dtype"].lower()
        merged["format"] = merged["format"] and merged["format"].upper()
        return make_tensor(self.operator, parameter, "the call", **merged)

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
        from ..arrays.stores import is_store, open_store

        if text.casefold() == NULL:
            return None
        if is_store(text):
            told = self._told_type(parameter)
            read = self.reads and parameter.read
            stored = open_store(text, dtype=told, fill_missing=self.fill_missing, read=read)
            self.arrays[parameter.name] = stored
            return {"dtype": stored.dtype.name, "shape": stored.shape}
        if Path(text).suffix.lower() not in (".npy", ".bin"):
            return spec(text, option(parameter))
        array = self._read(parameter, text)
        steps = tuple(step // max(array.itemsize, 1) for step in array.strides)
        return {"dtype": array.dtype.name, "shape": array.shape, "strides": steps}

    def _read(self, parameter: Parameter, path: str) -> NDArray[Any]:
        from ..arrays.files import read_array

        if Path(path).suffix.lower() == ".bin":
            dtype = self._own_type(parameter) or self.dtype
            shape = None if self.shape is None else integers(self.shape, "--shape")
            gradient = self.operator.by_role.get(Role.GRADIENT)
            if shape is None and parameter.role is Role.INDICES and gradient and gradient.name in self.arrays:
                shape = self.arrays[gradient.name].shape
            if parameter.role is Role.MASK:
                shape = self._mask_shape()
            if dtype is None or shape is None:
                raise BadInput(f"{path}: a .bin file does not say what it holds; give --dtype and --shape")
        else:
            dtype, shape = self._told_type(parameter), None
        array = self.arrays[parameter.name] = read_array(path, dtype=dtype, shape=shape)
        return array

    def _mask_shape(self) -> tuple[int, ...] | None:
        """The shape of a mask, which follows from the input and the windows, never from ``--shape``."""
        from ..cases.building import mask_of

        x = self.operator.by_role[Role.INPUT]
        text = self._text(x)
        facts = None if text is None else self._facts(x, text)
        made = self._made(x, {"format": self.format, "dtype": self.dtype or "float32"}, facts)
        mask = mask_of(self.operator, made, self._own_numbers())
        return None if mask is None else mask.shape

    def _pooled(self, x: CaseTensor | None, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape that the windows give; where they give none, an earlier rule will refuse the call."""
        from ..cases.building import pooled_shape

        by_role = self.operator.by_role
        if Role.KERNEL not in by_role:
            where = option(by_role[Role.GRADIENT])
            raise BadInput(f"{where} is missing: its shape, such as 1,16,2,2, says how many windows there are")
        if x is None:
            return (1,) * (len(self.operator.axes) + 2)
        return pooled_shape(self.operator, x, numbers) or x.shape


def option(parameter: Parameter) -> str:
    """The option of a parameter.

    >>> from ..contract.parameters import KERNEL
    >>> option(KERNEL)
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


# Options, which follow from the operators.

Described = Callable[[Parameter], tuple[str, str] | None]


def parameters_of_all() -> dict[str, Parameter]:
    """The parameters that any operator has, by their Python names; of several, one whose description is enough."""
    found: dict[str, Parameter] = {}
    for operator in REGISTRY.values():
        for parameter in operator.parameters:
            if found.setdefault(parameter.python_name, parameter).read and not parameter.read:
                found[parameter.python_name] = parameter
    return found


def takes_call(described: Described) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command with an option for each parameter of any operator, and with those of ``COMMON``. What was given comes
    as its ``words``, all that a ``Line`` has besides the operator.

    ``described`` gives a tensor's metavar and help, or None for tensors that the command has no such option for.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        wanted = {name: p for name, p in parameters_of_all().items() if p.kind != "tensor" or described(p)}

        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            texts = {name: text for name in wanted if (text := given.pop(name)) not in (None, [])}
            tensors = {name: text for name, text in texts.items() if wanted[name].kind == "tensor"}
            numbers = {name: _value(wanted[name], text) for name, text in texts.items() if name not in tensors}
            words = {name: given.pop(name) for name in COMMON} | {"tensors": tensors, "numbers": numbers}
            command(**given, words=words)

        def options(annotations: Mapping[str, Any]) -> list[inspect.Parameter]:
            return [inspect.Parameter(name, keyword, default=None, annotation=a) for name, a in annotations.items()]

        keyword = inspect.Parameter.KEYWORD_ONLY
        common = {
            name: Annotated[str | None, typer.Option(_option(name), metavar=metavar, help=help, show_default=False)]
            for name, (metavar, help) in COMMON.items()
        }
        all_of_them = []
        for parameter in signature.parameters.values():
            all_of_them += options(common) if parameter.name == "words" else [parameter.replace(kind=keyword)]
        all_of_them += options({name: _annotation(p, described) for name, p in wanted.items()})
        del with_options.__wrapped__  # whose signature is another
        with_options.__signature__ = signature.replace(parameters=all_of_them)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in all_of_them}
        return with_options

    return decorate


def _annotation(parameter: Parameter, described: Described) -> Any:
    kinds: dict[str, tuple[Any, str | None]] = {
        "tensor": (str | None, None),
        "ints": (str | None, "N[,N]"),
        "int": (int | None, "N"),
        "bool": (bool | None, None),
    }
    (kind, metavar), names, help = kinds[parameter.kind], [option(parameter)], parameter.help
    if parameter.kind == "bool":
        names = [f"{names[0]}/--no-{names[0][2:]}"]
    elif parameter.kind == "tensor":
        metavar, help = described(parameter) or (None, help)
        if parameter.output:  # each of them, in their order
            kind = list[str] | None
        if parameter.role is Role.INPUT:
            names.append(f"{names[0]}-shape")
    return Annotated[kind, typer.Option(*names, help=help, metavar=metavar, rich_help_panel=PANEL, show_default=False)]


def _value(parameter: Parameter, given: Any) -> Any:
    if parameter.kind != "ints":
        return given
    if given.casefold() == NULL:
        return None
    numbers = integers(given, option(parameter))
    is_one = parameter.role is Role.OUTPUT_SIZE and re.fullmatch(r"\s*[+-]?\d+\s*", given)
    return numbers[0] if is_one else numbers
