"""The files of kernels as they are while they are measured: their lines, and what each says of itself."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import poolgrad.kernels

_KERNELS = Path(poolgrad.kernels.__path__[0])


def describe() -> list[dict[str, Any]]:
    return [_described(path) for path in sorted(_KERNELS.rglob("*.py"))]


def _described(path: Path) -> dict[str, Any]:
    text, name = path.read_text("utf-8"), ".".join(path.relative_to(_KERNELS).with_suffix("").parts)
    said = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ")
    return {"name": name, "lines": text.count("\n"), "says": said}
