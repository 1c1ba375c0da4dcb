"""The description on the package's page in an index: README.md, made to be read away from its repository.

A page in an index has no neighbours, so links to files become their names, and pictures that are files are left out.
The build asks for it (``tool.hatch.metadata.hooks`` in pyproject.toml).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

WHERE = "The files that are named here are in the source distribution."
_FILE = r"\((?!https?:|#)([^)]*)\)"  # what a link leads to, if neither an address nor a heading of the same page


def package_page(readme: str) -> str:
    """The page for that README."""
    text = re.sub(r"!\[[^\]]*\]" + _FILE + r"\n*", "", readme)
    text = re.sub(r"\[([^\]]*)\]" + _FILE, lambda link: _named(*link.groups()), text)
    title, what, rest = text.split("\n\n", 2)
    return "\n\n".join((title, what, WHERE, rest))


def _named(text: str, file: str) -> str:
    return text if text == file else f"{text} ({file})"


class PackagePage(MetadataHookInterface):
    """Gives the build its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": package_page(readme)}
