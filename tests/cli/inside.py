"""Run the command line in this process, which is as good as its own where only the answer counts, and much faster."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from poolgrad.cli import main


class Answered(NamedTuple):
    stdout: str
    stderr: str
    code: int

    @property
    def data(self) -> Any:
        return json.loads(self.stdout)


def poolgrad(*arguments: object, expect: int | None = 0) -> Answered:
    """What the command prints, and its exit code, which must be ``expect`` unless that is None.

    Exceptions that the command lets out fail the test.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["poolgrad", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as exit,
    ):
        main()
    code = int(exit.value.code or 0)
    assert expect in (code, None), f"exit code {code}\n{out.getvalue()}\n{err.getvalue()}"
    return Answered(out.getvalue(), err.getvalue(), code)
