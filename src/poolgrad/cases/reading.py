"""Reading case files: which of the formats a file has is told by its content."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from .atk import read_atk
from .lines import read_lines
from .model import BadCase, Case
from .ttk import NEEDED, read_ttk

Reader = Callable[[str, str, int], Iterator[Case]]


def read_cases(path: str | os.PathLike[str], *, seed: int = 0, product: str | None = None) -> list[Case]:
    """The cases of a file: ATK JSON, TTK aclnn CSV or JSON lines. ``BadCase`` if there is none, or nothing that is one.

    ``seed`` and ``product`` are for cases that name none of their own. Nothing in a file is ever run.
    """
    text = _text(Path(path))
    cases = [replace(c, product=c.product or product) for c in _reader(text, str(path))(text, str(path), seed)]
    if not cases:
        raise BadCase(f"{path}: there are no cases in it")
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise BadCase(f"{path}: two cases have the name {case.name!r}; give each its own")
        seen.add(case.name)
    return cases


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadCase(f"{path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadCase(f"{path} is no case file: it is not text in UTF-8") from error


def _reader(text: str, path: str) -> Reader:
    begin = next((line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if begin.startswith("["):
        return read_atk
    if begin.startswith("{"):
        return read_lines
    columns = next(csv.reader([begin]), [])
    if "testcase_name" in columns or "api_name" in columns:
        missing = [column for column in NEEDED if column not in columns]
        if missing:
            raise BadCase(f"{path}: a TTK file needs the column {missing[0]}")
        return read_ttk
    got = "it is empty" if not begin else f"it begins with {begin[:40]!r}"
    raise BadCase(
        f"{path} is no case file: expected ATK JSON (a list), TTK CSV (columns {', '.join(NEEDED)}, ...) "
        f"or JSON lines (an object to a line); {got}"
    )
