"""All legal ways of a call give the same bits, whoever calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle import DTYPES, Guarded, bits
from planning import Planning

import poolgrad
from poolgrad.contract.operator import Operator
from poolgrad.contract.parameters import Role
from poolgrad.operators import REGISTRY

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.usefixtures("guarded_scratch")

DRAWS = 30


def windows(operator: Operator, dice: random.Random, sizes: list[int]) -> list[Any]:
    """Numbers of a call, the usual ones mostly."""
    if Role.KERNEL not in operator.by_role:
        return [[dice.choice((1, 7, (size + 1) // 2, size)) for size in sizes]]
    kernels = [min(dice.choice((2, 3, 3, 4, 5, size)), size) for size in sizes]
    if dice.random() < 0.7:
        kernels = [min(kernels)] * len(sizes)
    far = [kernel + dice.randint(2, 5) for kernel in kernels]
    strides = dice.choice((kernels, [1] * len(sizes), [2] * len(sizes), far))
    return [kernels, strides, dice.choice(([0] * len(sizes), [k // 2 for k in kernels]))]


def drawn(operator: Operator, dice: random.Random) -> Iterator[tuple[Any, tuple[Any, ...], tuple[Array, ...]]]:
    """Calls of an operator: the function, its arguments, and what they write to. A mask is always one run of memory."""
    pool = getattr(poolgrad, operator.python_name.removesuffix("_backward"))
    while True:
        sizes = [dice.choice((dice.randint(1, 9), dice.randint(10, 30))) for _ in operator.axes]
        sizes[-1] = dice.choice((dice.randint(1, 20), dice.randint(16, 70)))
        shape = (dice.randint(1, 2), dice.choice((1, 2, 3, 8, 9, 16)), *sizes)
        dtype, layout = dice.choice(DTYPES), dice.choice(("plain", "plain", "channels last", "cropped"))
        numbers = windows(operator, dice, sizes)
        x = Guarded.holding(np.random.default_rng(3).integers(-9, 9, shape).astype(dtype), layout).array
        pooled = pool(x, *numbers)
        results = pooled if isinstance(pooled, tuple) else (pooled,)
        if not operator.is_gradient:
            outs = [
                Guarded(r.shape, r.dtype, layout if r.shape == results[0].shape else "plain").array for r in results
            ]
            yield pool, (x, *numbers), tuple(outs)
            continue
        grad = np.random.default_rng(4).standard_normal(results[0].shape).astype(dtype)
        places = [Guarded.holding(r, layout if r.shape == results[0].shape else "plain").array for r in results[1:]]
        given = (Guarded.holding(grad, layout).array, shape, *places)
        function = getattr(poolgrad, operator.python_name)
        yield function, (*given, *(numbers if Role.KERNEL in operator.by_role else [])), (x.copy(order="K"),)


@pytest.mark.parametrize("name", REGISTRY)
def test_all_legal_ways_give_the_same_bits(name: str, planning: Planning) -> None:
    operator, dice, several = REGISTRY[name], random.Random(name), 0
    for (function, arguments, outs), _ in zip(drawn(operator, dice), range(DRAWS), strict=False):
        out = outs if len(outs) > 1 else outs[0]
        few_at_once = dice.choice(({}, {"band": 16, "band_of_channels": 64, "channels_at_once": 16}))
        planning.use(time_of_part=1, **few_at_once)
        function(*arguments, out=out)
        expected = [bits(np.ascontiguousarray(array)) for array in outs]
        choice = planning.plans[-1].choice
        legal = [] if choice is None else [v.way for v in choice.verdicts() if not v.lacks]
        several += len(legal) > 1
        for way in legal:
            planning.use(ways=[way], time_of_part=1, **few_at_once)
            for array in outs:
                array[...] = 77
            function(*arguments, out=out)
            taken = planning.plans[-1].choice
            assert taken is not None
            assert taken.taken.name == way
            for array, wanted in zip(outs, expected, strict=True):
                assert np.array_equal(bits(np.ascontiguousarray(array)), wanted), (way, arguments[1:])
    assert several or Role.MASK in operator.by_role  # which has one way only, if any
