"""What commands print into a file or a pipe has no blanks at the ends of its lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.command import poolgrad

CALL = ("AvgPool2dBackward", "--x", "1,16,4,4", "--kernel-size", "3")
LINES: dict[str, tuple[tuple[object, ...], int]] = {
    "compare": (("compare", "one.npy", "two.npy"), 1),
    "check, refused": (("check", *CALL, "--padding", "2", "--product", "Atlas A2"), 1),
    "check on all products": (("check", *CALL), 0),
    "explain": (("explain", "AvgPool2dBackward"), 0),
    "support": (("support",), 0),
    "cases": (("cases", "AdaptiveAvgPool3dBackward"), 0),
}


@pytest.mark.parametrize("name", LINES)
def test_no_line_ends_in_blanks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.ones((2, 3), np.float32))
    np.save("two.npy", np.zeros((2, 3), np.float32))
    line, code = LINES[name]
    printed = poolgrad(*line, expect=code).stdout.splitlines()
    assert len(printed) > 3
    assert [text for text in printed if text != text.rstrip()] == []
