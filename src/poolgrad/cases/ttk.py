"""TTK case files for aclnn: CSV whose cells are Python literals, one entry per tensor in the order of the parameters.

Only columns that say something about the call are looked at; others may hold anything. Data ranges of indices are
placeholders: the forward pass over self makes them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from ..contract.operator import Operator
from ..contract.support import OF_PLACES
from .building import OUR_NAMES, is_int, make_case, make_tensor, make_values, operator_named
from .literals import NoLiteral, literal
from .model import BadCase, Case, CaseTensor, Values

COLUMNS = (
    *("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes", "tensor_formats", "tensor_storage_shapes"),
    *("tensor_view_offsets", "tensor_view_strides", "output_tensor_indexes", "attributes", "input_data_ranges"),
    *("precision_tolerances", "absolute_precision"),
)
NEEDED = ("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes")
_WORDS = ("testcase_name", "api_name", "product", "why")
# Attributes may be spread over several columns.
_ATTRIBUTES = ("attributes", *(f"attributes{number}" for number in range(1, 10)))
_READ = {*COLUMNS, *OUR_NAMES.values(), *_ATTRIBUTES} - {"precision_tolerances", "absolute_precision"}
# The relative error and the share of failing elements that the standard "close" allows.
_TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-3}


def read_ttk(text: str, path: str, seed: int) -> Iterator[Case]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    enabled = disabled = 0
    while True:
        where = f"{path}, line {rows.line_num + 1}"
        try:
            columns = rows.fieldnames or ()
            where = f"{path}, line {rows.line_num + 1}"
            row = next(rows, None)
        except csv.Error as error:
            raise BadCase(f"{where}: the CSV is damaged or cut off; {error}") from error
        if row is None:
            break
        if None in row or None in row.values():
            raise BadCase(f"{where}: expected {len(columns)} cells, one for each column of the first line")
        if _is_enabled(row, where):
            enabled += 1
            yield _case(row, where, seed)
        else:
            disabled += 1
    if disabled and not enabled:
        raise BadCase(f"{path}: there are no cases in it: is_enabled is False in all of its rows")


def _is_enabled(row: dict[str, str], where: str) -> bool:
    value = _cell("is_enabled", row.get("is_enabled", ""), where)
    if value in (None, True, False):  # and 1 and 0
        return value is None or bool(value)
    raise BadCase(f"{where}: is_enabled: expected True or False, got {value!r}")


def _cell(column: str, cell: str, where: str) -> Any:
    """The value in a cell; None if it is empty."""
    text = cell.strip()
    if column in _WORDS or not text:
        return text or None
    try:
        return literal(text)
    except NoLiteral as error:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise BadCase(f"{where}: {column}: expected a Python literal, got {shown!r}") from error


def _case(cells: dict[str, str], where: str, seed: int) -> Case:
    name = cells["testcase_name"].strip()
    if not name:
        raise BadCase(f"{where}: testcase_name is empty")
    where = f"{where}, {name!r}"
    row = {column: _cell(column, cell, where) for column, cell in cells.items() if column in _READ}
    operator = operator_named(row["api_name"], where)
    facts = {fact: row.get(key) for fact, key in OUR_NAMES.items()}
    if facts["seed"] is None:
        facts["seed"] = seed
    numbers = _attributes(operator, row, where)
    return make_case(operator, where, name=name, tensors=_tensors(operator, row, where), numbers=numbers, **facts)


def _attributes(operator: Operator, row: dict[str, Any], where: str) -> dict[str, Any]:
    """What all columns of attributes say; none may contradict another."""
    known = {p.name for p in operator.numbers}
    numbers: dict[str, Any] = {}
    for column in _ATTRIBUTES:
        attributes = row.get(column) or {}
        if not isinstance(attributes, dict):
            raise BadCase(f"{where}: {column}: expected a dict by parameter names, got {attributes!r}")
        for attribute, value in attributes.items():
            if attribute not in known:
                raise BadCase(f"{where}: {column}: {operator.name} has no parameter {attribute!r}")
            before = numbers.setdefault(attribute, value)
            if before != value:
                raise BadCase(f"{where}: {column}: {attribute} is {value!r}, and {before!r} in another column")
    return numbers


def _tensors(operator: Operator, row: dict[str, Any], where: str) -> dict[str, CaseTensor | None]:
    """The tensors of a row, one entry of each column to each tensor; but for shapes one entry may stand for all."""
    names = [p.name for p in operator.tensors]
    of = f"one for each of {', '.join(names)}"
    _check_outputs(operator, row.get("output_tensor_indexes"), where)

    def entries(column: str) -> list[Any]:
        value = row.get(column)
        if not isinstance(value, tuple | list):
            value = (value,)
        if len(value) == 1 and column != "tensor_view_shapes":
            value = (value[0],) * len(names)
        if len(value) != len(names):
            raise BadCase(f"{where}: {column}: expected {len(names)} entries, {of}, got {value!r}")
        return list(value)

    def unless_empty(column: str) -> list[Any]:
        """The same, with None where nothing is told: in an empty cell and for ``()``."""
        if row.get(column) in (None, (), []):
            return [None] * len(names)
        return [None if entry in ((), []) else entry for entry in entries(column)]

    told = {
        "shape": entries("tensor_view_shapes"),
        "dtype": entries("tensor_dtypes"),
        "format": ["ND" if f is None else f for f in unless_empty("tensor_formats")],  # which is what TTK passes
        "strides": unless_empty("tensor_view_strides"),
        "offset": unless_empty("tensor_view_offsets"),
        "storage": unless_empty("tensor_storage_shapes"),
    }
    ranges = _ranges(row.get("input_data_ranges"), len(names))
    if len(ranges) > len(names):
        raise BadCase(f"{where}: input_data_ranges: expected up to {len(names)} ranges, {of}, got {len(ranges)}")
    tensors: dict[str, CaseTensor | None] = {}
    for i, p in enumerate(operator.tensors):
        fields = {field: column[i] for field, column in told.items()}
        if fields["shape"] is not None and not p.output and p.role not in OF_PLACES:
            fields["values"] = make_values(ranges[i], f"{where}: {p.name}: input_data_ranges")
        tensors[p.name] = None if fields["shape"] is None else make_tensor(operator, p, where, **fields)
    return tensors


def _check_outputs(operator: Operator, told: Any, where: str) -> None:
    """That the file means the operator's own output; places may be counted from the end."""
    count = len(operator.tensors)
    outputs = [place for place, p in enumerate(operator.tensors) if p.output]
    places = told if isinstance(told, tuple | list) else (told,)
    if told is None or [place + count if is_int(place) and place < 0 else place for place in places] == outputs:
        return
    names = " and ".join(p.name for p in operator.outputs)
    are = "is the output" if len(outputs) == 1 else "are the outputs"
    raise BadCase(f"{where}: output_tensor_indexes: expected {tuple(outputs)}: {names} {are}, got {told!r}")


def _ranges(told: Any, count: int) -> list[Any]:
    """Ranges in the order of the tensors, None where nothing is told. One, alone or in a tuple, is for all of them."""
    if told in (None, (), []):
        return [None] * count
    if not isinstance(told, tuple | list) or not any(isinstance(entry, tuple | list | dict) for entry in told):
        told = (told,)
    empty = [isinstance(entry, tuple | list) and all(bound is None for bound in entry) for entry in told]
    ranges = [None if nothing else entry for nothing, entry in zip(empty, told, strict=True)]
    return ranges * count if len(ranges) == 1 else ranges + [None] * (count - len(ranges))


# Writing.


def ttk_row(case: Case) -> dict[str, str]:
    """A case as a row by column names, as far as its form can say it."""
    tensors = [case.tensors[p.name] for p in case.operator.tensors]
    inputs = [case.tensors[p.name] for p in case.operator.tensors if not p.output]
    row = {
        "tensor_view_shapes": tuple(t and t.shape for t in tensors),
        "tensor_dtypes": tuple(t and t.dtype for t in tensors),
        "tensor_formats": tuple(t and t.format for t in tensors),
        "tensor_storage_shapes": tuple(t and (t.shape if t.storage is None else t.storage) for t in tensors),
        "tensor_view_offsets": tuple(t.offset if t else 0 for t in tensors),
        "tensor_view_strides": tuple(t and t.strides for t in tensors),
        "output_tensor_indexes": tuple(i for i, p in enumerate(case.operator.tensors) if p.output),
        "attributes": dict(case.numbers),
        "input_data_ranges": tuple(t and _range_of(t.values) for t in inputs),
        "precision_tolerances": (((_tolerance(case),) * 2),),
        "absolute_precision": 1e-8,
    }
    words = {
        "testcase_name": case.name,
        "api_name": case.operator_name,
        "expected_status": "" if case.status is None else str(case.status),
        "product": case.product or "",
        "seed": str(case.seed or ""),
        "why": case.why,
    }
    return {key: repr(value) for key, value in row.items()} | words


def _tolerance(case: Case) -> float:
    result = next(iter(case.outputs.values()))
    return _TOLERANCES.get(result.dtype if result else "", 1e-4)


def _range_of(values: Values) -> Any:
    """Bounds, or one number; indices have placeholders. ``nan`` and ``inf`` stand there as repr writes them: bare."""
    if not values.numbers:
        return (0, 1)
    return values.numbers if values.kind == "uniform" else values.numbers[:1]
