"""Writing case files. A format carries a case if its reader gives the same call back; what it can't carry is told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..contract.support import where_maxima_stood
from .atk import atk_record, read_atk
from .building import OUR_NAMES
from .judging import judge
from .lines import as_record
from .model import BadCase, Case, CaseTensor
from .ttk import COLUMNS, read_ttk, ttk_row

FORMATS = ("jsonl", "atk", "ttk")
_HEADER = {column: column for column in (*COLUMNS, *OUR_NAMES.values())}


class LeftOut(NamedTuple):
    """A case that a format has no words for."""

    case: str
    reason: str


def written(cases: Sequence[Case], format: str) -> tuple[str, list[LeftOut]]:
    """The text of a case file, and the cases that are not in it."""
    if format == "jsonl":
        return "".join(json.dumps(as_record(case), ensure_ascii=False) + "\n" for case in cases), []
    texts: list[str] = []
    left_out = []
    for case in cases:
        if format == "atk":
            record = atk_record(case, len(texts))
            loss = _loss(case, None if record is None else json.dumps([record]), read_atk)
            text = json.dumps(record, ensure_ascii=False)
        else:
            text = _csv([ttk_row(case)])
            loss = _loss(case, _csv([_HEADER]) + text, read_ttk)
        if loss is None:
            texts.append(text)
        else:
            left_out.append(LeftOut(case.name, loss))
    if format == "atk":
        return "[\n" + ",\n".join(texts) + "\n]\n", left_out
    return _csv([_HEADER]) + "".join(texts), left_out


def _csv(rows: Sequence[dict[str, str]]) -> str:
    text = io.StringIO(newline="")
    csv.DictWriter(text, _HEADER, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _loss(case: Case, text: str | None, read: Callable[[str, str, int], Any]) -> str | None:
    """None if reading gives the case back; else what it would lose."""
    if text is None:
        return "a null pointer"
    try:
        (back,) = read(text, "", 0)
    except BadCase as error:
        return str(error).rsplit(": ", 1)[-1]
    for name, value in case.numbers.items():
        if back.numbers[name] != value:
            return f"{name} of {value}"
    in_atk = read is read_atk
    told = where_maxima_stood(case.operator)
    for name, tensor in case.tensors.items():
        lost = _lost(tensor, back.tensors[name], in_atk and case.operator.atk_has_output_size)
        if lost == "the shape" and in_atk and told and name == told.name and judge(back).row is judge(case).row:
            continue  # a placeholder in such files, and another row decides
        if lost:
            return f"{lost} of {name}"
    return None


def _lost(tensor: CaseTensor | None, back: CaseTensor | None, forward: bool) -> str | None:
    if tensor is None or back is None:
        return None if tensor is back else "null"
    is_gradient = tensor.dtype == back.dtype and not tensor.dtype.startswith("int")
    if forward and is_gradient and back.values.kind == "forward":  # ATK takes these from the forward pass
        tensor = replace(tensor, values=back.values)
    pairs = {
        "the dtype": (tensor.dtype, back.dtype),
        "the shape": (tensor.shape, back.shape),
        "the format": (tensor.format, back.format),
        "the strides": ((tensor.steps, tensor.offset, tensor.storage), (back.steps, back.offset, back.storage)),
        "the data": (repr(tensor.values), repr(back.values)),  # in which nan equals nan
    }
    return next((what for what, (one, other) in pairs.items() if one != other), None)
