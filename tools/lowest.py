"""Print the lowest versions that pyproject.toml allows, of all that it asks for, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirement: str) -> str:
    """That requirement with its bound as the only version."""
    found = re.fullmatch(r"([\w-]+)(?:>=|==)([\w.]+)", requirement)
    if found is None:
        raise ValueError(f"pyproject.toml: expected NAME>=VERSION or NAME==VERSION, got {requirement}")
    return "{}=={}".format(*found.groups())


def main() -> None:
    asked = tomllib.loads(PYPROJECT.read_text("utf-8"))
    project = asked["project"]
    lists = [asked["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    print("\n".join(sorted({lowest(requirement) for requirements in lists for requirement in requirements})))


if __name__ == "__main__":
    main()
