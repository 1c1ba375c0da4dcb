"""From what a file says to a case: names to parameters, forms to types, gaps to defaults. All readers end here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.dtypes import DTYPES, FORMATS, SHORT_NAMES
from ..base.products import ANY, Product, find_product
from ..contract.engine import Call, Value
from ..contract.masks import mask_shape
from ..contract.operator import Operator
from ..contract.parameters import REQUIRED, Parameter, Role
from ..contract.pooling import INTEGERS
from ..contract.pooling import pooled_shape as shape_of_pooled
from ..contract.support import OF_PLACES, support, where_maxima_stood
from ..operators import find_operator
from ..precision.limits import ALIASES, STANDARDS
from .model import DEFAULT_VALUES, FORWARD, BadCase, Case, CaseTensor, Number, Values, product_named

# What files of other tools call facts of ours; these tools read by name, and do not see them.
OUR_NAMES = {"status": "expected_status", "product": "product", "seed": "seed", "why": "why"}
_WORDS = {"null": DEFAULT_VALUES} | {kind: Values(kind) for kind in ("forward", "windows", "plane")}
# What formulas of windows raise for a call that the contract refuses.
_TOO_WRONG = (AssertionError, AttributeError, ValueError, IndexError, ZeroDivisionError)
_SPECIAL = ("inf", "+inf", "-inf", "nan")


def make_case(
    operator: Operator,
    where: str,
    *,
    name: str,
    tensors: Mapping[str, CaseTensor | None],
    numbers: Mapping[str, Any],
    **facts: Any,
) -> Case:
    """A whole case from the tensors and numbers that a file has; facts are status, product, standard, seed, why."""
    if not name.isprintable():
        raise BadCase(f"{where}: name: expected text that can be printed, got {name!r}")
    complete = dict(tensors)
    values = {p.name: _number_of(p, numbers, where) for p in operator.numbers}
    for parameter in operator.inputs:
        if parameter.name not in tensors:
            complete[parameter.name] = _missing_input(operator, parameter, complete, values, where)
    product = _product(facts.get("product"), where)
    status, seed = (optional_int(facts.get(fact), fact, where) for fact in ("status", "seed"))
    if seed is not None and seed < 0:
        raise BadCase(f"{where}: seed: expected 0 or more, got {seed}")
    complete = results_of(operator, complete, values, product) | complete
    return Case(
        name,
        operator.name,
        {p.name: complete[p.name] for p in operator.tensors},
        values,
        product=product,
        status=status,
        standard=_standard(facts.get("standard")),
        seed=seed or 0,
        why=str(facts.get("why") or "").encode(errors="replace").decode(),
    )


def operator_named(name: object, where: str) -> Operator:
    try:
        return find_operator(name)
    except ValueError as error:
        raise BadCase(f"{where}: {error}") from error


def random_for(seed: int, case: str, *purpose: str | int) -> np.random.Generator:
    """Random numbers of one purpose of one case, whatever else is made before, after or at the same time."""
    digest = hashlib.sha256(repr((case, *purpose)).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:16], "little")])


def _missing_input(
    operator: Operator,
    parameter: Parameter,
    known: Mapping[str, CaseTensor | None],
    numbers: Mapping[str, Number],
    where: str,
) -> CaseTensor | None:
    """Indices are like the gradient, and a mask as the windows give it, as far as the file does not say otherwise."""
    if parameter.role is Role.MASK:
        return mask_of(operator, known[operator.by_role[Role.INPUT].name], numbers)
    if parameter.role is not Role.INDICES:
        raise BadCase(f"{where}: there is no tensor {parameter.name}; give its dtype and shape")
    like = known.get(operator.by_role[Role.GRADIENT].name)
    return like and CaseTensor("int32", like.shape, like.format, values=FORWARD)


def mask_of(operator: Operator, x: CaseTensor | None, numbers: Mapping[str, Any]) -> CaseTensor | None:
    """The mask of a forward pass over x; of x's own shape, where an earlier rule will refuse the call."""
    if x is None:
        return None
    return CaseTensor("int8", _shape_of(mask_shape, operator, x, numbers) or x.shape, x.format, values=FORWARD)


def results_of(
    operator: Operator, tensors: Mapping[str, CaseTensor | None], numbers: Mapping[str, Number], product: str | None
) -> dict[str, CaseTensor | None]:
    """The outputs of a case as the operator says. If it names no product they are right on each that has it, also where
    some of them take indices of one type only."""
    results = results_on(operator, tensors, numbers, product_named(product))
    places = operator.by_role.get(Role.PLACES)
    found = results[places.name] if product is None and places else None
    if places and found:
        taken = [support(operator, product).index_dtypes for product in operator.products]
        everywhere = [name for name in taken[0] if all(name in names for names in taken)]
        if everywhere and found.dtype not in everywhere:
            results[places.name] = replace(found, dtype=everywhere[0])
    return results


def results_on(
    operator: Operator, tensors: Mapping[str, CaseTensor | None], numbers: Mapping[str, Number], product: Product
) -> dict[str, CaseTensor | None]:
    """The outputs of a call on a product; like the input, where an earlier rule will refuse the call."""
    x = tensors[operator.by_role[Role.INPUT].name]
    if x is None:
        return dict.fromkeys(p.name for p in operator.outputs)
    values: dict[str, Value] = {name: tensor.described() if tensor else None for name, tensor in tensors.items()}
    try:
        results = operator.results(Call(operator, product, {**values, **numbers}))
    except _TOO_WRONG:
        results = (x.described(),) * len(operator.outputs)
    pairs = zip(operator.outputs, results, strict=True)
    return {p.name: CaseTensor(tensor.dtype.name, tensor.shape, tensor.format) for p, tensor in pairs}


# Numbers.


def _number_of(parameter: Parameter, numbers: Mapping[str, Any], where: str) -> Number:
    name = parameter.name
    if name not in numbers:
        if parameter.default is REQUIRED:
            raise BadCase(f"{where}: there is no {name}")
        default: Number = parameter.default
        return default
    value = numbers[name]
    if parameter.kind == "ints":
        return None if value is None else ints(value, name, where)
    if parameter.kind == "bool":
        if isinstance(value, bool) or (is_int(value) and value in (0, 1)):
            return bool(value)
        raise BadCase(f"{where}: {name}: expected true or false, got {value!r}")
    if parameter.role is Role.CEIL_MODE and isinstance(value, bool):  # of some operators it is an integer
        return int(value)
    return optional_int(value, name, where) or 0


def is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def ints(value: Any, name: str, where: str) -> tuple[int, ...]:
    values = (value,) if is_int(value) else value
    if isinstance(values, list | tuple) and all(is_int(v) for v in values):
        return tuple(values)
    raise BadCase(f"{where}: {name}: expected integers, got {value!r}")


def optional_int(value: Any, name: str, where: str) -> int | None:
    if value is None or is_int(value):
        return value  # type: ignore[no-any-return]
    raise BadCase(f"{where}: {name}: expected an integer, got {value!r}")


def _product(value: Any, where: str) -> str | None:
    try:
        return None if value is None else find_product(value).name
    except ValueError as error:
        raise BadCase(f"{where}: {error}") from error


def _standard(value: Any) -> str | None:
    """The name of a standard, if it is one of ours; other tools have more, which say nothing about the call."""
    name = ALIASES.get(value, value) if isinstance(value, str) else None
    return name if name in STANDARDS else None


# Tensors.


def make_tensor(
    operator: Operator,
    parameter: Parameter,
    where: str,
    *,
    dtype: Any = None,
    shape: Any = None,
    format: Any = None,
    strides: Any = None,
    offset: Any = 0,
    storage: Any = None,
    values: Values | None = None,
) -> CaseTensor:
    """A tensor from the forms that a file has; the contract judges what it is, this only whether it is one at all."""
    at = f"{where}: {parameter.name}"
    if not isinstance(dtype, str):
        raise BadCase(f"{at}: dtype: expected a name such as float32, got {dtype!r}")
    if not isinstance(shape, list | tuple):
        raise BadCase(f"{at}: shape: expected a list of sizes, got {shape!r}")
    dtype = SHORT_NAMES.get(dtype, dtype)
    if dtype not in DTYPES:
        raise BadCase(f"{at}: dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}")
    sizes = ints(shape, "shape", at)
    format = operator.usual_format(len(sizes)) if format is None else format
    if format not in FORMATS:
        raise BadCase(f"{at}: format: expected one of {', '.join(FORMATS)}, got {format!r}")
    steps = None if strides is None else ints(strides, "strides", at)
    if steps is not None and len(steps) != len(sizes):
        raise BadCase(f"{at}: strides: expected {len(sizes)}, one for each size, got {len(steps)}")
    first = optional_int(offset, "offset", at) or 0
    room = None if storage is None else ints(storage, "storage", at)
    if room == sizes and steps is None and not first:  # says nothing that the shape does not say
        room = None
    values = values or default_values(parameter)
    _check_values(operator, parameter, dtype, values, at)
    return CaseTensor(dtype, sizes, format, steps, first, room, values)


def default_values(parameter: Parameter) -> Values:
    """What is in a tensor if nobody says: indices and masks are those of the forward pass."""
    return FORWARD if parameter.role in OF_PLACES and not parameter.output else DEFAULT_VALUES


def _check_values(operator: Operator, parameter: Parameter, dtype: str, values: Values, at: str) -> None:
    """Each kind of values is for some tensors only."""
    kinds, is_index = ["uniform", "constant", "normal"], parameter.role in OF_PLACES and not parameter.output
    if is_index:
        kinds[2:] = ["forward"] if parameter.role is Role.MASK else ["forward", "windows", "plane"]
    elif parameter.role is Role.GRADIENT and where_maxima_stood(operator):
        kinds.append("forward")
    if values.kind not in kinds:
        raise BadCase(f"{at}: data: expected {', '.join(kinds[:-1])} or {kinds[-1]} values, got {values.kind}")
    numbers, are_integers = values.numbers, is_index or dtype in INTEGERS
    if are_integers and (any(map(math.isnan, numbers)) or (values.kind == "constant" and math.isinf(numbers[0]))):
        raise BadCase(f"{at}: data: expected integers, got {numbers}")


def make_values(raw: Any, where: str) -> Values:
    """How a file says what is in a tensor.

    >>> make_values([-2, 2], "here"), make_values(["nan"], "here")
    (Values(kind='uniform', numbers=(-2.0, 2.0)), Values(kind='constant', numbers=(nan,)))
    """
    if raw is None:
        return DEFAULT_VALUES
    if isinstance(raw, list | tuple) and len(raw) == 1:
        return make_values(raw[0], where)
    if isinstance(raw, str) and raw in _WORDS:
        return _WORDS[raw]
    if isinstance(raw, dict):
        return _normal(raw, where)
    if is_number(raw) or raw in _SPECIAL:
        return Values("constant", (_number(raw, where),))
    return Values("uniform", _range(raw, where))


def _normal(raw: dict[str, Any], where: str) -> Values:
    if raw.get("name", "nd") != "nd" or "mean" not in raw or "std" not in raw:
        raise BadCase(f"{where}: expected mean and std, got {raw!r}")
    deviations = _range(raw["std"], f"{where}: std")
    if deviations[0] < 0:
        raise BadCase(f"{where}: std: expected 0 or more, got {raw['std']!r}")
    numbers = (*_range(raw["mean"], f"{where}: mean"), *deviations)
    if not all(map(math.isfinite, numbers)):
        raise BadCase(f"{where}: expected finite means and deviations, got {raw!r}")
    return Values("normal", numbers)


def _range(raw: Any, where: str) -> tuple[float, float]:
    """Two bounds, or one number for both."""
    bounds = raw if isinstance(raw, list | tuple) else (raw, raw)
    if len(bounds) == 2:
        low, high = (_number(bound, where) for bound in bounds)
        if low <= high:
            return low, high
    raise BadCase(f"{where}: expected a range [low, high] of values, got {raw!r}")


def _number(raw: Any, where: str) -> float:
    if is_number(raw) or raw in _SPECIAL:
        with suppress(OverflowError):
            return float(raw)
    raise BadCase(f"{where}: expected a number, inf, -inf or nan, got {raw!r}")


def pooled_shape(operator: Operator, x: CaseTensor, numbers: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The shape of the forward output of fixed windows, in the input's own format; None if the numbers allow none."""
    if Role.KERNEL not in operator.by_role:
        return None
    return _shape_of(shape_of_pooled, operator, x, numbers)


def _shape_of(
    shape_of: Callable[[Call], tuple[int, ...]], operator: Operator, x: CaseTensor, numbers: Mapping[str, Any]
) -> tuple[int, ...] | None:
    """A shape that follows from the input and numbers; None if these allow none."""
    try:
        values: dict[str, Value] = {p.name: _number_of(p, numbers, "") for p in operator.numbers}
        values[operator.by_role[Role.INPUT].name] = x.described()
        return shape_of(Call(operator, ANY, values))
    except (BadCase, *_TOO_WRONG):
        return None
