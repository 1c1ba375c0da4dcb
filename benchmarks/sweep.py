"""Random shapes that nobody tuned for, against torch and against our own other ways: other ones with every seed."""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path
from typing import Any

from . import machine, sources
from .cases import Case, parse
from .lines import OPERATORS
from .measure import caller, race
from .run import Document, say, set_threads
from .sides import Sides, compare, prepare
from .ways import times_of_ways

# Elements of an input: from what fits a first-level cache to what fits none.
FEWEST, MOST = 3e3, 1e7
# Additions or comparisons of a case at the most, so that no single one holds up the rest.
MOST_WORK = 4e8
# Each case is timed several times, a group of others between them: what slows down the machine for a second or two
# meets one side of one of them. The two sides, and all ways, take so many turns at a time.
ROUNDS, GROUP = 2, 10
TURNS, TURNS_OF_WAYS = 2, 1


def drawn(dice: random.Random) -> Case:
    """A case that an input of this size could be: few or many planes, of any sides, under windows large and small."""
    while True:
        case = parse(_line(dice))
        work = math.prod(case.grad_shape) * math.prod(1 if case.adaptive else k for k in case.kernel)
        if min(case.outputs) > 0 and work <= MOST_WORK:
            return case


def _line(dice: random.Random) -> str:
    name = dice.choice([name for name in OPERATORS if name[-1].isdigit()])
    letters = OPERATORS[name].axes.lower()
    elements = _between(dice, FEWEST, MOST)
    largest = min(400, elements) if len(letters) == 2 else min(80, elements ** (1 / 3))
    side = _between(dice, 3, max(3, largest))
    sizes = [max(1, round(side) + dice.choice((0, 0, 0, -1, 1, 3))) for _ in letters]
    planes = max(1, round(elements / math.prod(sizes)))
    batch = round(_between(dice, 1, min(planes, 32)))
    shape = f"n{batch}c{max(1, planes // batch)}" + "".join(map("{}{}".format, letters, sizes))
    words = _windows(dice, sizes) if name[0] != "a" or name.startswith("avg") else [_output_size(dice, sizes)]
    dtype = dice.choice(("float32", "float32", "float16", "bfloat16"))
    layout = dice.choice(("contiguous", "contiguous", "channels_last"))
    return " ".join([name, shape, *words, dtype, layout, dice.choice(("backward", "forward"))])


def _windows(dice: random.Random, sizes: list[int]) -> list[str]:
    """The usual windows mostly, now and then large ones, up to the whole plane."""
    kernels = [min(dice.choice((2, 2, 3, 3, 3, 4, 5, 7, size)), size) for size in sizes]
    if dice.random() < 0.7:
        kernels = [min(kernels[0], *sizes)] * len(sizes)
    strides = dice.choice((kernels, [1] * len(sizes), [2] * len(sizes), [dice.randint(1, k) for k in kernels]))
    pads = [dice.choice((0, k // 2)) for k in kernels]
    return [
        letter + ",".join(map(str, numbers)) for letter, numbers in zip("ksp", (kernels, strides, pads), strict=True)
    ]


def _output_size(dice: random.Random, sizes: list[int]) -> str:
    choices = ([1] * len(sizes), [7] * len(sizes), [-(-size // 2) for size in sizes], sizes)
    outs = dice.choice((*choices, [dice.randint(1, size + 2) for size in sizes]))
    return "o" + ",".join(map(str, outs))


def _between(dice: random.Random, low: float, high: float) -> float:
    """As likely between 3 and 30 as between 30 and 300."""
    return math.exp(dice.uniform(math.log(low), math.log(max(low, high))))


def sweep(seeds: list[int], number: int, threads: list[int], keep: Path | None) -> Document:
    """Draw so many cases of each seed and time both sides of each; what was measured is kept after every group."""
    start, total = time.perf_counter(), number * len(seeds)
    document: Document = {"machine": machine.describe(), "seeds": seeds, "sizes": {"fewest": FEWEST, "most": MOST}}
    document |= {"sources": sources.describe(), "not by torch": 0, "sweep": []}
    done = 0
    for seed in seeds:
        dice = random.Random(seed)
        for first in range(0, number, GROUP):
            cases = [_by_torch(dice, document) for _ in range(min(GROUP, number - first))]
            done += len(cases)
            say(f"{done}/{total}  {time.perf_counter() - start:.0f} s  {cases[-1].name}")
            document["sweep"] += _rows(cases, threads)
            if keep:
                _write(document, keep)
    say("")
    return document


def _by_torch(dice: random.Random, document: Document) -> Case:
    """The next case that torch does right: of D, H, W it lacks halves, and takes a layout for another one."""
    while True:
        case = drawn(dice)
        sides = prepare(case)
        try:
            compare(sides, {"torch": sides.torch.call})
        except (AssertionError, NotImplementedError):
            document["not by torch"] += 1
        else:
            return case


def _write(document: Document, path: Path) -> None:
    """A line for each row: there are thousands."""
    rows = ",\n".join(map(json.dumps, document["sweep"]))
    rest = {name: value for name, value in document.items() if name != "sweep"}
    path.write_text(f'{json.dumps(rest)[:-1]}, "sweep": [\n{rows}\n]}}\n', "utf-8")


def _rows(cases: list[Case], threads: list[int]) -> list[dict[str, Any]]:
    """The shortest times of all rounds."""
    rounds = [[_measured(prepare(case), threads) for case in cases] for _ in range(ROUNDS)]
    rows = []
    for measured in zip(*rounds, strict=True):  # all rounds of a case
        best = math.inf
        for first, *others in zip(*measured, strict=True):  # and of a number of threads
            for other in others:
                for name in ("torch", "poolgrad"):
                    first[name] = min(first[name], other[name])
                first["ways"] = {way: min(taken, other["ways"][way]) for way, taken in first["ways"].items()}
            # Where torch is faster on fewer threads, its users would choose these.
            best = first["torch"] = min(first["torch"], best)
            rows.append(first)
    return rows


def _measured(sides: Sides, threads: list[int]) -> list[dict[str, Any]]:
    case, rows = sides.case, []
    for count in threads:
        set_threads(count)
        compare(sides, sides.calls)
        times = race({name: caller(call) for name, call in sides.calls.items()}, turns=TURNS)
        addresses = {name: tensor.data_ptr() for name, tensor in sides.poolgrad.tensors.items()}
        way, module, ways = times_of_ways(sides.poolgrad.call, addresses, TURNS_OF_WAYS)
        described = {name: getattr(case, name) for name in ("operator", "direction", "layout", "dtype")}
        rows.append({"case": case.name, **described, "threads": count, **times, "way": way})
        rows[-1] |= {"module": module, "ways": ways}
    return rows
