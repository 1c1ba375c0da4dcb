"""Folders depend on each other in one direction: the way of a call can be read off them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import poolgrad

PACKAGE = Path(poolgrad.__file__).parent
# Each imports only what stands before it, and itself.
LAYERS = (
    *("base", "kernels", "contract", "plans", "arrays", "run", "operators"),
    *(
        "functional",
        "masks",
        "blocks",
        "torch",
        "dask",
        "acl",
        "capi",
        "precision",
        "cases",
        "plugins",
        "selftest",
        "cli",
    ),
)
# The package itself is what all of them are: its version is everybody's.
ROOT = ""


def layer_of(path: Path) -> str:
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else path.stem.removeprefix("__").removesuffix("__")


def imports(path: Path) -> Iterator[str]:
    """The layers that a module imports, also later, inside functions; not those that only its annotations name."""
    package = [poolgrad.__name__, *path.relative_to(PACKAGE).parts[:-1]]
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    skipped = {id(inner) for node in typing_only for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names = []
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*module, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        for top, *rest in names:
            if top == poolgrad.__name__:
                yield rest[0] if rest and rest[0] in LAYERS else ROOT


MODULES = [path for path in PACKAGE.rglob("*.py") if layer_of(path) in LAYERS]


def test_every_folder_is_a_layer() -> None:
    found = {layer_of(path) for path in PACKAGE.rglob("*.py")}
    assert found == {*LAYERS, "init", "main"}


def test_modules_import_only_layers_below_their_own() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in MODULES
        for other in imports(path)
        if other != ROOT and LAYERS.index(other) > LAYERS.index(layer_of(path))
    ]
    assert not wrong


def test_operators_are_named_in_their_own_files_only() -> None:
    """Everything else asks for roles."""
    names = [
        name for operator in poolgrad.operators.REGISTRY.values() for name in (operator.name, operator.python_name)
    ]
    allowed = ("operators", "functional", "selftest")
    codes = {path: _code(path) for path in MODULES if layer_of(path) not in allowed}
    wrong = [f"{path.relative_to(PACKAGE)}: {name}" for path, code in codes.items() for name in names if name in code]
    assert not wrong


def _code(path: Path) -> str:
    """The constants and names of a module, without its docstrings and comments, and without what tools have made."""
    text = re.sub("^# generated:.*?^# end", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    tree = ast.parse("" if "Made by tools/make_docs.py." in text else text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body[0] = ast.Pass()
    return ast.unparse(tree)
