"""``poolgrad support`` shows the contract's own table."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from cli.command import poolgrad


def test_support_says_what_each_product_has() -> None:
    cells = json.loads(poolgrad("support", "--json").stdout)
    found = {(cell["product"], cell["operator"]): cell for cell in cells}
    assert found["Atlas A2", "aclnnMaxPool2dWithIndicesBackward"]["index_dtypes"] == ["int32"]
    assert not found["Atlas 200I/500 A2", "aclnnAvgPool2dBackward"]["supported"]
    assert found[None, "aclnnAvgPool2dBackward"]["dtypes"][0] == "float64"


def test_support_as_a_table_is_plain_text_in_a_pipe() -> None:
    shown = poolgrad("support").stdout
    assert "Ascend 950" in shown
    assert "\x1b" not in shown


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.parametrize("redirection", [">/dev/full", ">/dev/full 2>/dev/full"])
def test_an_answer_that_can_not_be_written_is_no_answer(redirection: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m poolgrad support {redirection}", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == (
        "" if "2>" in redirection else "poolgrad: the answer can't be written: No space left on device\n"
    )


def test_closed_output_is_no_mistake() -> None:
    done = subprocess.run(f"{sys.executable} -m poolgrad support >&-", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_option_is_bad_usage() -> None:
    done = poolgrad("support", "--no-such-option", expect=2)
    assert "--no-such-option" in done.stderr
