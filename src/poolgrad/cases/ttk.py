"""TTK case files for aclnn: CSV whose cells are Python literals, one entry per tensor in the order of the parameters.

Cells are parsed, never evaluated. Data ranges of indices are placeholders: the forward pass over self makes them.
"""

from __future__ import annotations

import ast
import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from ..contract.engine import Operator
from ..operators import find_operator
from .building import make_case, make_tensor, make_values
from .model import FORWARD, BadCase, Case, CaseTensor, Values

COLUMNS = (
    *("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes", "tensor_formats", "tensor_storage_shapes"),
    *("tensor_view_offsets", "tensor_view_strides", "output_tensor_indexes", "attributes", "input_data_ranges"),
    *("precision_tolerances", "absolute_precision"),
)
NEEDED = ("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes")
# Columns of our own, which tools that read by name do not see.
_OURS = {"status": "expected_status", "product": "product", "seed": "seed", "why": "why"}
OUR_COLUMNS = tuple(_OURS.values())
_WORDS = ("testcase_name", "api_name", "product", "why")
# The relative error and the share of failing elements that the standard "close" allows.
_TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-3}


def read_ttk(text: str, path: str, seed: int) -> Iterator[Case]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    while True:
        where = f"{path}, line {rows.line_num + 1}"
        try:
            columns = rows.fieldnames or ()
            where = f"{path}, line {rows.line_num + 1}"
            row = next(rows, None)
        except csv.Error as error:
            raise BadCase(f"{where}: the CSV is damaged or cut off; {error}") from error
        if row is None:
            return
        if None in row or None in row.values():
            raise BadCase(f"{where}: expected {len(columns)} cells, one for each column of the first line")
        yield _case({column: _cell(column, cell, where) for column, cell in row.items()}, where, seed)


class _NamedNumbers(ast.NodeTransformer):
    """``inf`` and ``nan`` are no literals, but stand in such cells."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _cell(column: str, cell: str, where: str) -> Any:
    """The literal in a cell; None if it is empty."""
    text = cell.strip()
    if column in _WORDS or not text:
        return text or None
    try:
        return ast.literal_eval(_NamedNumbers().visit(ast.parse(text, mode="eval")))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        shown = text if len(text) <= 60 else text[:57] + "..."
        raise BadCase(f"{where}: {column}: expected a Python literal, got {shown!r}") from error


def _case(row: dict[str, Any], where: str, seed: int) -> Case:
    name = row["testcase_name"]
    if not name:
        raise BadCase(f"{where}: testcase_name is empty")
    try:
        operator = find_operator(row["api_name"])
    except ValueError as error:
        raise BadCase(f"{where}: {error}") from error
    attributes = row.get("attributes") or {}
    if not isinstance(attributes, dict):
        raise BadCase(f"{where}: attributes: expected a dict by parameter names, got {attributes!r}")
    known = {p.name for p in operator.parameters if p.kind != "tensor"}
    for attribute in attributes:
        if attribute not in known:
            raise BadCase(f"{where}: attributes: {operator.name} has no parameter {attribute!r}")
    facts = {fact: row.get(key) for fact, key in _OURS.items()}
    if facts["seed"] is None:
        facts["seed"] = seed
    return make_case(operator, where, name=name, tensors=_tensors(operator, row, where), numbers=attributes, **facts)


def _tensors(operator: Operator, row: dict[str, Any], where: str) -> dict[str, CaseTensor | None]:
    """The tensors of a row, one entry of each column to each tensor."""
    names = [p.name for p in operator.tensors]
    outputs = [place for place, p in enumerate(operator.tensors) if p.output]
    if row.get("output_tensor_indexes") not in (None, *outputs, tuple(outputs), outputs):
        raise BadCase(f"{where}: output_tensor_indexes: expected {tuple(outputs)}: {names[-1]} is the output")

    def entries(column: str, count: int) -> list[Any]:
        value = row.get(column)
        if value is None or isinstance(value, str | int):
            return [value] * count
        if not isinstance(value, tuple | list) or len(value) != count:
            of = ", ".join(names[:count])
            raise BadCase(f"{where}: {column}: expected {count} entries, one for each of {of}, got {value!r}")
        return list(value)

    every, given = len(names), len(names) - len(outputs)
    columns = ("tensor_view_shapes", "tensor_dtypes", "tensor_formats", "tensor_storage_shapes")
    shapes, dtypes, formats, storages = (entries(column, every) for column in columns)
    offsets, strides = entries("tensor_view_offsets", every), entries("tensor_view_strides", every)
    ranges = _ranges(entries, row, given, every)
    return {
        name: None
        if shapes[i] is None
        else make_tensor(
            operator,
            name,
            where,
            dtype=dtypes[i],
            shape=shapes[i],
            format=formats[i],
            strides=strides[i],
            offset=offsets[i],
            storage=storages[i],
            values=FORWARD if name == "indices" else make_values(ranges[i], f"{where}: {name}: input_data_ranges"),
        )
        for i, name in enumerate(names)
    }


def _ranges(entries: Any, row: dict[str, Any], given: int, every: int) -> list[Any]:
    """One range for each input, or for each tensor; the output's says nothing."""
    value = row.get("input_data_ranges")
    of_each = isinstance(value, tuple | list) and len(value) == every
    ranges: list[Any] = entries("input_data_ranges", every if of_each else given)
    return [*ranges[:given], None]


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
    return _TOLERANCES.get(case.output.dtype if case.output else "", 1e-4)


def _range_of(values: Values) -> Any:
    """Bounds, or one word or number; indices have placeholders."""
    if not values.numbers:
        return (0, 1)
    numbers = tuple(number if math.isfinite(number) else str(number) for number in values.numbers)
    return numbers if values.kind == "uniform" else (numbers[0],)
