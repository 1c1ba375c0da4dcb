"""Names of cases as names of directories: one plain component, never a way out of the directory it is in."""

from __future__ import annotations

import hashlib
import re

from .model import BadCase

MOST_BYTES = 120
MANIFEST = "manifest.json"  # which lies beside the directories of cases
_STRANGE = re.compile(r"[^\w.+=-]")


def directory_name(case: str) -> str:
    """A safe name. Signs that file systems or shells mind become ``_``, with a mark that keeps such names apart.

    >>> directory_name("avg_k2.s2"), directory_name("why not?")
    ('avg_k2.s2', 'why_not_-890e06')
    """
    steps = re.split(r"[/\\]", case)
    if ".." in steps or (len(steps) > 1 and (not steps[0] or steps[0].endswith(":"))):
        raise BadCase(f"the case name {case!r} is a path that leaves the directory; use a plain name")
    name = _STRANGE.sub("_", case)
    if name.startswith(".") or not name.strip("._") or name.casefold() == MANIFEST:
        name = f"_{name}"
    short = name.encode()[:MOST_BYTES].decode(errors="ignore")
    if short != case:
        name = f"{short}-{hashlib.sha256(case.encode()).hexdigest()[:6]}"
    return name
