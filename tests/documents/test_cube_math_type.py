"""cubeMathType of average pooling: what its input, or gradOutput, is rounded to before anything else."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from contract.test_contract import product_of, value_of
from document import A2_A3, CLASSIC, all_of, changed
from documents import avg_pool2d
from documents.avg_pool2d_backward import DOCUMENT, FLOATS

from poolgrad import AclnnError
from poolgrad.contract.engine import prepare
from poolgrad.operators import REGISTRY

# cubeMathType 0 to 3: what gradOutput is rounded to, "-" where the call is refused.
CUBE_TABLE = """
    Atlas A2                float32   kept hf32 float16 hf32
    Atlas A2                float16   kept kept kept -
    Atlas A2                bfloat16  kept kept - -
    Atlas inference series  float32   - float16 float16 -
    Atlas inference series  float16   kept kept kept -
    Ascend 950              float32   kept kept float16 kept
    Ascend 950              float16   kept kept kept -
    Ascend 950              bfloat16  kept kept kept -
    Ascend 950 global       float32   kept hf32-950 float16 hf32-950
    Ascend 950 global       float16   kept kept kept -
    Ascend 950 global       bfloat16  kept kept - -
    no product              float32   kept hf32 float16 hf32
    no product              float16   kept kept kept -
    no product              bfloat16  kept kept - -
    no product              float64   kept kept - -
"""
# The same of aclnnAvgPool2d, and self.
FORWARD_TABLE = """
    Atlas A2                float32   kept - float16 -
    Atlas A2                float16   kept kept kept -
    Atlas A2                bfloat16  kept kept - -
    Atlas inference series  float32   - float16 float16 -
    Atlas inference series  float16   kept kept kept -
    Ascend 950              float32   kept kept float16 -
    Ascend 950              float16   kept kept kept -
    Ascend 950              bfloat16  kept kept kept -
    no product              float32   kept - float16 -
    no product              float16   kept kept kept -
    no product              bfloat16  kept kept - -
    no product              float64   kept kept - -
"""
SAME_TABLE = {"Atlas A2": A2_A3, "Atlas inference series": CLASSIC}
ROUNDING_CODES = {"kept": 0, "float16": 1, "hf32": 2, "hf32-950": 3}


@pytest.mark.parametrize("line", CUBE_TABLE.strip().splitlines(), ids=str.strip)
def test_cube_math_type(line: str) -> None:
    *words, dtype, m0, m1, m2, m3 = line.split()
    whole_plane = words[-1] == "global"
    name = " ".join(words[:-1] if whole_plane else words)
    for product, (mode, meaning) in itertools.product(SAME_TABLE.get(name, (name,)), enumerate((m0, m1, m2, m3))):
        kernel, out = ((8, 8), (1, 1)) if whole_plane else ((2, 2), (4, 4))
        arguments = changed(DOCUMENT.legal, all_of(FLOATS, dtype=dtype) | {"kernelSize": kernel, "cubeMathType": mode})
        arguments = changed(arguments, {"gradOutput": {"shape": (2, 3, *out)}})
        assert_rounded(DOCUMENT.name, product, arguments, meaning)


@pytest.mark.parametrize("line", FORWARD_TABLE.strip().splitlines(), ids=str.strip)
def test_cube_math_type_of_the_forward_pass(line: str) -> None:
    *words, dtype, m0, m1, m2, m3 = line.split()
    name, document = " ".join(words), avg_pool2d.DOCUMENT
    for product, (mode, meaning) in itertools.product(SAME_TABLE.get(name, (name,)), enumerate((m0, m1, m2, m3))):
        arguments = changed(document.legal, all_of(avg_pool2d.FLOATS, dtype=dtype) | {"cubeMathType": mode})
        assert_rounded(document.name, product, arguments, meaning)


def assert_rounded(operator: str, product: str, arguments: dict[str, Any], meaning: str) -> None:
    values = {key: value_of(a) for key, a in arguments.items()}
    if meaning == "-":
        with pytest.raises(AclnnError, match="cubeMathType-dtype"):
            prepare(REGISTRY[operator], product_of(product), values, 1)
    else:
        plan = prepare(REGISTRY[operator], product_of(product), values, 1)
        assert plan.record["rounding"][0] == ROUNDING_CODES[meaning], (product, arguments)
