"""ATK case files: a JSON list of cases, each with a list of inputs.

A list argument is a list of inputs of type ``attrs`` or ``attr_tuple``, one scalar each. The files say nothing of
outputs and of the shapes of indices and masks: the tool takes them from the forward pass over self, and so does the
reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.random import Generator

from ..base.dtypes import SHORT_NAMES
from ..base.windows import spread
from ..contract.operator import Operator
from ..contract.parameters import Parameter, Role
from ..contract.support import OF_PLACES
from .building import (
    OUR_NAMES,
    is_int,
    make_case,
    make_tensor,
    make_values,
    mask_of,
    operator_named,
    pooled_shape,
    random_for,
)
from .lines import values_record
from .model import FORWARD, BadCase, Case, CaseTensor

OUTPUT_SIZE = "output_size"
FLOATS = ("float32", "float16", "bfloat16")
_SHORT = {SHORT_NAMES[short]: short for short in ("fp64", "fp32", "fp16", "bf16")}
# Standards that both have, by its words and ours. Its usual one, "single_bm" or "default", has no name here.
_STANDARDS = {"mixed_tolerance_bm": "mixed", "equal": "binary"}
_USUAL_STANDARD = "single_bm"


def read_atk(text: str, path: str, seed: int) -> Iterator[Case]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadCase(f"{path}: expected a JSON list of ATK cases; {error}") from error
    for number, record in enumerate(records):
        where = f"{path}, case {number}"
        if not isinstance(record, dict) or not isinstance(record.get("inputs"), list):
            raise BadCase(f"{where}: expected an ATK case, an object with aclnn_name and a list of inputs")
        yield _case(record, where, number, seed)


def _case(record: dict[str, Any], where: str, number: int, seed: int) -> Case:
    operator = operator_named(record.get("aclnn_name") or record.get("name"), where)
    identity = record.get("id", number)
    if not isinstance(identity, int | str):
        raise BadCase(f"{where}: id: expected a number or text, got {identity!r}")
    name = f"{operator.name.removeprefix('aclnn')}_{identity}"
    where = f"{where}, {name!r}"
    facts = {fact: record.get(key) for fact, key in OUR_NAMES.items()} | {"standard": _standard(record.get("standard"))}
    facts["seed"] = told = record.get(OUR_NAMES["seed"], seed)
    random = partial(random_for, told if is_int(told) and told >= 0 else 0, name, "attribute")
    tensors: dict[str, CaseTensor | None] = {}
    numbers: dict[str, Any] = {}
    for place, group in enumerate(record["inputs"]):
        given, value, parameter = _input(operator, group, place, where)
        if parameter is not None and parameter.kind == "tensor":
            tensors[parameter.name] = _tensor(operator, parameter, value, where)
        else:
            drawn = [_scalar(one, where, partial(random, place, i)) for i, one in enumerate(value)]
            numbers[given] = drawn if isinstance(group, list) or parameter is None else drawn[0]
    _follow_the_forward_pass(operator, tensors, numbers)
    return make_case(operator, where, name=name, tensors=tensors, numbers=numbers, **facts)


def _standard(told: Any) -> Any:
    """``{"acc": {word: limits}, "perf": ...}``; the word may also stand alone, or in the place of the limits."""
    acc = told.get("acc") if isinstance(told, dict) else told
    words = [word for pair in acc.items() for word in pair] if isinstance(acc, dict) else [acc]
    found = [word for word in words if isinstance(word, str) and word in _STANDARDS]
    return _STANDARDS[found[0]] if found else acc


def _input(operator: Operator, group: Any, place: int, where: str) -> tuple[str, Any, Parameter | None]:
    """One input or one list of inputs: its documented name, its record or records, and its parameter."""
    members = group if isinstance(group, list) else [group]
    names = [member.get("name") if isinstance(member, dict) else None for member in members]
    name = names[0] if names and names.count(names[0]) == len(names) else None
    if not isinstance(name, str):
        raise BadCase(f"{where}: input {place}: expected an input with a name, or a list of inputs of one name")
    if name == OUTPUT_SIZE and operator.atk_has_output_size:
        return name, members, None
    for parameter in operator.parameters:
        known = (parameter.name, operator.atk_names.get(parameter.name, parameter.name))
        if name.replace("_", "").casefold() in [own.replace("_", "").casefold() for own in known]:
            if parameter.kind == "tensor" and isinstance(group, list):
                raise BadCase(f"{where}: {name}: expected one tensor, got a list")
            return parameter.name, group if parameter.kind == "tensor" else members, parameter
    raise BadCase(f"{where}: {operator.name} has no parameter {name!r}")


def _tensor(operator: Operator, parameter: Parameter, record: dict[str, Any], where: str) -> CaseTensor | None:
    if record.get("shape") is None and record.get("range_values") is None:
        return None
    values = FORWARD
    if parameter.role not in OF_PLACES:
        values = make_values(record.get("range_values"), f"{where}: {parameter.name}: range_values")
    fields = {key: record.get(key) for key in ("dtype", "shape", "format")}
    return make_tensor(operator, parameter, where, **fields, values=values)


def _scalar(record: dict[str, Any], where: str, random: Callable[[], Generator]) -> Any:
    """The value of an attribute: itself, in a list of one, or in a range of two to draw from."""
    value = record.get("range_values")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list) and len(value) == 2 and all(isinstance(v, bool) for v in value):
        return value[random().integers(0, 1, endpoint=True)]
    if isinstance(value, list) and len(value) == 2 and all(is_int(v) for v in value) and value[0] <= value[1]:
        return int(random().integers(value[0], value[1], endpoint=True))
    if value is None or isinstance(value, int | float):
        return value
    raise BadCase(f"{where}: {record.get('name')}: expected a value, or a range of two integers, got {value!r}")


def _follow_the_forward_pass(
    operator: Operator, tensors: dict[str, CaseTensor | None], numbers: dict[str, Any]
) -> None:
    """Put the forward pass's shapes in the place of placeholders."""
    by_role = operator.by_role
    x = tensors.get(by_role[Role.INPUT].name)
    where = by_role[Role.INDICES].name if Role.INDICES in by_role else ""
    if x is None:
        return
    if Role.MASK in by_role and tensors.get(by_role[Role.MASK].name) is not None:
        tensors[by_role[Role.MASK].name] = mask_of(operator, x, numbers)
    indices, shape = tensors.get(where), pooled_shape(operator, x, numbers)
    if operator.atk_has_output_size:
        if indices is not None and indices.dtype in FLOATS:
            indices = tensors[where] = replace(indices, dtype="int32")  # what its executor puts in their place
        size: list[Any] = numbers.get(OUTPUT_SIZE) or []
        axes = len(operator.axes)
        if len(size) in (1, axes) and all(is_int(s) for s in size):
            shape = (*x.shape[:-axes], *spread(tuple(size), axes))
            tensors[by_role[Role.GRADIENT].name] = CaseTensor(x.dtype, shape, x.format, values=FORWARD)
    if indices is not None and shape is not None:
        tensors[where] = CaseTensor(indices.dtype, shape, indices.format, values=FORWARD)


# Writing.


def atk_record(case: Case, identity: int) -> dict[str, Any] | None:
    """A case as ATK writes it, as far as its form can say it; None for a null pointer, for which it has no words."""
    if None in (*case.tensors.values(), *case.numbers.values()):
        return None
    names = case.operator.atk_names
    inputs: list[Any] = []
    for parameter in case.operator.parameters:
        name = names.get(parameter.name, parameter.name)
        if parameter.kind == "tensor":
            if not parameter.output:
                inputs.append(_tensor_input(case, name, case.tensor(parameter.name)))
        elif parameter.kind == "ints":
            values = case.numbers[parameter.name]
            assert isinstance(values, tuple)
            if values:
                inputs.append([_attribute(name, "attrs", "int", value) for value in values])
        else:
            inputs.append(_attribute(name, "attr", parameter.kind, case.numbers[parameter.name]))
    if case.operator.atk_has_output_size:
        size = case.of(Role.GRADIENT).shape[-len(case.operator.axes) :]
        inputs.append([_attribute(OUTPUT_SIZE, "attr_tuple", "int", n) for n in size])
    standard = next((word for word, ours in _STANDARDS.items() if ours == case.standard), _USUAL_STANDARD)
    record: dict[str, Any] = {
        "id": identity,
        "name": f"torch.ops.aten.{case.operator.python_name}",
        "aclnn_name": case.operator_name.removeprefix("aclnn"),
        "api_type": f"poolgrad_{case.operator.python_name}",
        "standard": {"acc": {standard: "default"}, "perf": {}},
        "inputs": inputs,
    }
    ours = {"status": case.status, "product": case.product, "seed": case.seed or None, "why": case.why or None}
    return record | {OUR_NAMES[fact]: value for fact, value in ours.items() if value is not None}


def _tensor_input(case: Case, name: str, tensor: CaseTensor) -> dict[str, Any]:
    values = values_record(tensor.values)
    if isinstance(values, dict):
        values = {"name": "nd", **values}
    elif not isinstance(values, list):
        values = ["null"] if isinstance(values, str) and not tensor.values.numbers else [values]
    record = {
        "name": name,
        "type": "tensor",
        "required": True,
        "dtype": _SHORT.get(tensor.dtype, tensor.dtype),
        "shape": list(tensor.shape),
        "range_values": values,
    }
    if tensor.format != case.operator.usual_format(len(tensor.shape)):
        record["format"] = tensor.format
    return record


def _attribute(name: str, type: str, dtype: str, value: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "required": True, "dtype": dtype, "range_values": value}
