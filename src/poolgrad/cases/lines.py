"""Our own case files: JSON lines, one case to a line, parameters by their documented names."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

from ..contract.operator import Operator
from ..contract.parameters import Parameter
from ..precision.limits import ALIASES, STANDARDS
from .building import default_values, make_case, make_tensor, make_values, operator_named, results_of
from .model import BadCase, Case, CaseTensor, Values

_FACTS = ("name", "operator", "why", "product", "status", "standard", "seed")
_TENSOR_KEYS = ("dtype", "shape", "format", "strides", "offset", "storage", "data")


def read_lines(text: str, path: str, seed: int) -> Iterator[Case]:
    """The cases of a file. Empty lines, and lines that begin with ``#``, are passed over."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _case(_object(line, f"{path}, line {number}"), f"{path}, line {number}", number, seed)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadCase(f"{where}: expected one JSON object; {error}") from error
    if not isinstance(record, dict):
        raise BadCase(f"{where}: expected one JSON object, got {type(record).__name__}")
    return record


def _case(record: dict[str, Any], where: str, number: int, seed: int) -> Case:
    operator = operator_named(record.get("operator"), where)
    name = record.get("name", f"case_{number}")
    if not isinstance(name, str) or not name:
        raise BadCase(f"{where}: name: expected some text, got {name!r}")
    where = f"{where}, {name!r}"
    standard = record.get("standard")
    if standard is not None and standard not in (*STANDARDS, *ALIASES):
        raise BadCase(f"{where}: standard: expected one of {', '.join(STANDARDS)}, got {standard!r}")
    # All outputs have one Python name, which stands for the first of them; a documented name is one tensor's.
    documented = {p.python_name: p.name for p in reversed(operator.parameters)}
    documented |= {p.name: p.name for p in operator.parameters}
    given: dict[str, Any] = {}
    for key, value in record.items():
        if key in _FACTS:
            continue
        if key not in documented:
            known = ", ".join((*_FACTS, *(p.name for p in operator.parameters)))
            raise BadCase(f"{where}: {operator.name} has no parameter {key!r}; a line may have {known}")
        given[documented[key]] = value
    tensors = {p.name: _tensor(operator, p, given[p.name], where) for p in operator.tensors if p.name in given}
    facts = {fact: record.get(fact) for fact in _FACTS if fact not in ("name", "operator")}
    facts["seed"] = record.get("seed", seed)
    return make_case(operator, where, name=name, tensors=tensors, numbers=given, **facts)


def _tensor(operator: Operator, parameter: Parameter, record: Any, where: str) -> CaseTensor | None:
    name = parameter.name
    if record is None:
        return None
    if not isinstance(record, dict):
        raise BadCase(f"{where}: {name}: expected an object with dtype and shape, got {record!r}")
    strange = [key for key in record if key not in _TENSOR_KEYS]
    if strange:
        raise BadCase(f"{where}: {name}: unknown {strange[0]!r}; a tensor may have {', '.join(_TENSOR_KEYS)}")
    fields = dict(record)
    data = fields.pop("data", None)
    values = None if data is None else make_values(data, f"{where}: {name}: data")
    return make_tensor(operator, parameter, where, **fields, values=values)


# Writing.


def as_record(case: Case) -> dict[str, Any]:
    """The case as an object for JSON; what has its default is left out."""
    record: dict[str, Any] = {"name": case.name, "operator": case.operator_name}
    facts = {"why": case.why or None, "product": case.product, "status": case.status, "standard": case.standard}
    record |= {fact: value for fact, value in facts.items() if value is not None}
    if case.seed:
        record["seed"] = case.seed
    results = results_of(case.operator, case.inputs, case.numbers, case.product)
    for parameter in case.operator.parameters:
        name = parameter.name
        if parameter.kind != "tensor":
            record[name] = case.numbers[name]
        elif not parameter.output or case.tensors[name] != results[name]:
            record[name] = _tensor_record(parameter, case.tensors[name])
    return record


def _tensor_record(parameter: Parameter, tensor: CaseTensor | None) -> dict[str, Any] | None:
    if tensor is None:
        return None
    record: dict[str, Any] = {"dtype": tensor.dtype, "shape": tensor.shape, "format": tensor.format}
    more = {"strides": tensor.strides, "offset": tensor.offset or None, "storage": tensor.storage}
    record |= {key: value for key, value in more.items() if value is not None}
    if tensor.values != default_values(parameter):
        record["data"] = values_record(tensor.values)
    return record


def values_record(values: Values) -> Any:
    """The values as a file says them."""
    if not values.numbers:
        return values.kind
    numbers = [number if math.isfinite(number) else str(number) for number in values.numbers]
    if values.kind == "normal":
        return {"mean": numbers[:2], "std": numbers[2:]}
    return numbers if values.kind == "uniform" else numbers[0]


def digest(case: Case) -> str:
    """Equal for cases whose inputs and results are equal."""
    record = {**as_record(case), "seed": case.seed}
    for remark in ("why", "status", "standard"):
        record.pop(remark, None)
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
