"""Calls block by block from files to files, in little memory, also if they are broken off again and again."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.inside import poolgrad as command

import poolgrad
from poolgrad.blocks import journal, streams
from poolgrad.blocks.calls import Block, judged
from poolgrad.blocks.streams import Stream, bytes_of
from poolgrad.cli import streaming
from poolgrad.operators import find_operator

X = np.random.default_rng(0).standard_normal((12, 3, 40, 50)).astype(np.float32)
WORDS = ("--kernel-size", "3", "--stride", "2", "--padding", "1")
MAXIMA = ("run", "MaxPool2dWithIndices", "--x", "x.npy", *WORDS, "-o", "values.npy", "-o", "indices.bin")


@pytest.fixture
def in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of any size are streamed, an image at a time, and every block is noted at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "LARGE", 0)
    monkeypatch.setattr(streams, "BUDGET", 60_000)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_NOTES", 0)
    np.save("x.npy", X)
    return tmp_path


def assert_maxima() -> None:
    values, indices = poolgrad.max_pool2d_with_indices(X, 3, 2, 1)
    assert np.array_equal(np.load("values.npy"), values)
    assert np.array_equal(np.fromfile("indices.bin", np.int64).reshape(indices.shape), indices)
    assert sorted(os.listdir()) == ["indices.bin", "values.npy", "x.npy"]


def test_files_in_blocks(in_blocks: Path) -> None:
    said = command(*MAXIMA).stdout
    assert said == "wrote values.npy: float32 (12, 3, 20, 25)\nwrote indices.bin: int64 (12, 3, 20, 25)\n"
    assert_maxima()
    words = ("--grad-output", "values.npy", "--x", "x.npy", *WORDS)
    command("run", "AvgPool2dBackward", *words, "-o", "gradient.npy")
    assert np.array_equal(np.load("gradient.npy"), poolgrad.avg_pool2d_backward(np.load("values.npy"), X, 3, 2, 1))


def test_a_run_goes_on_where_it_was_broken_off(in_blocks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    compute = Block.compute

    def until_the_fifth(block: Block, *read: Any, **more: Any) -> Any:
        if len(made) == 5:
            raise OSError(28, "No space left on device")
        made.append(block.ranges)
        return compute(block, *read, **more)

    monkeypatch.setattr(Block, "compute", until_the_fifth)
    assert "values.npy can't be written: No space left on device" in command(*MAXIMA, expect=2).stderr
    assert sorted(os.listdir()) == [".indices.bin.part", ".values.npy.journal", ".values.npy.part", "x.npy"]
    monkeypatch.setattr(Block, "compute", lambda block, *r, **m: made.append(block.ranges) or compute(block, *r, **m))
    command(*MAXIMA)
    assert len(made) == len(set(made)) == 12, "each block once"
    assert_maxima()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_goes_on(in_blocks: Path, end: signal.Signals) -> None:
    """A process of its own, which says so if it can, and then also notes what it has; nobody else may write the same
    meanwhile."""
    seconds = 0 if end == signal.SIGKILL else 1000
    code = f"""
import os, sys, time
from poolgrad.blocks import journal, streams
from poolgrad.blocks.calls import Block
from poolgrad.cli import main, streaming
streaming.LARGE, streams.BUDGET, journal.SECONDS_BETWEEN_NOTES = 0, 60_000, {seconds}
compute, made = Block.compute, []
def slowly(block, *read, **more):
    made.append(block)
    time.sleep(float(os.environ.get("PAUSE", "0")) if len(made) > 5 else 0)
    print("block", file=sys.stderr, flush=True)
    return compute(block, *read, **more)
Block.compute = slowly
sys.argv = ["poolgrad", *{MAXIMA!r}]
main()
"""
    slow = os.environ | {"PAUSE": "100"}
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=slow)
    deadline = time.monotonic() + 60
    notes = Path(".values.npy.journal")
    if end == signal.SIGKILL:
        while time.monotonic() < deadline and not (notes.exists() and len(notes.read_text().splitlines()) > 4):
            time.sleep(0.01)
    else:
        assert running.stderr is not None
        blocks = (line for line in iter(running.stderr.readline, "") if line == "block\n")  # kernels are told of, too
        assert len(list(itertools.islice(blocks, 5))) == 5
    refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "another run writes this result" in refused.stderr
    running.send_signal(end)
    _, told = running.communicate(timeout=60)
    if end != signal.SIGKILL:
        assert running.returncode == 128 + end
        assert told.endswith("poolgrad: interrupted; the same command goes on where this one stopped\n")
    assert not Path("values.npy").exists()
    finished = len(notes.read_text().splitlines()) - 1
    assert finished >= 4
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.count("block") <= 12 - finished
    assert_maxima()


@pytest.mark.parametrize("change", ["numbers", "input", "result"])
def test_what_is_left_of_another_call_is_not_gone_on_with(
    in_blocks: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    count = 0
    compute = Block.compute

    def until_the_fifth(block: Block, *read: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        if count == 5:
            raise OSError(5, "Input/output error")
        return compute(block, *read, **more)

    monkeypatch.setattr(Block, "compute", until_the_fifth)
    command(*MAXIMA, expect=2)
    call = MAXIMA
    if change == "numbers":
        call = (*MAXIMA, "--no-ceil-mode", "--dilation", "1,1", "--indices-dtype", "int32")
    elif change == "input":
        np.save("x.npy", X + 1)
    else:
        Path(".values.npy.part").unlink()
    count = 5
    command(*call)
    assert count == 5 + 12
    expected = poolgrad.max_pool2d_with_indices(np.load("x.npy"), 3, 2, 1)
    assert np.array_equal(np.load("values.npy"), expected[0])


def test_a_result_that_was_cut_off_is_not_filled_up(in_blocks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute, count = Block.compute, iter(range(5))

    def until_the_fifth(block: Block, *read: Any, **more: Any) -> Any:
        if next(count, None) is None:
            raise OSError(5, "Input/output error")
        return compute(block, *read, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Block, "compute", until_the_fifth)
        command(*MAXIMA, expect=2)
    for name in (".indices.bin.part", ".values.npy.part"):  # the first result is looked at first
        os.truncate(name, 4000)
        said = re.sub(r"\s+", " ", command(*MAXIMA, expect=2).stderr)
        assert f"{name} is" in said
        assert "remove it, and all is computed anew" in said
    Path(".values.npy.part").unlink()
    command(*MAXIMA)
    assert_maxima()


def test_a_bad_index_leaves_nothing_and_names_its_place(in_blocks: Path) -> None:
    values, indices = poolgrad.max_pool2d_with_indices(X, 3, 2, 1)
    indices[9, 2, 1, 3] = 2000
    np.save("g.npy", values)
    np.save("i.npy", indices)
    call = ("run", "MaxPool2dWithIndicesBackward", "--grad-output", "g.npy", "--indices", "i.npy", "--x", "x.npy")
    said = command(*call, *WORDS, "-o", "out.npy", expect=1).stdout
    assert "indices[9, 2, 1, 3] = 2000 is outside its plane of 40x50" in re.sub(r"\s+", " ", said)
    assert sorted(os.listdir()) == ["g.npy", "i.npy", "x.npy"]


def test_masks_are_computed_as_a_whole(in_blocks: Path) -> None:
    command("run", "MaxPool2dWithMask", "--x", "x.npy", *WORDS, "-o", "values.npy", "-o", "mask.npy")
    values, mask = poolgrad.max_pool2d_with_mask(X, 3, 2, 1)
    assert np.array_equal(np.load("values.npy"), values)
    assert np.array_equal(np.load("mask.npy"), mask)


# ---- sizes of blocks -------------------------------------------------------------------------------------------------


def stream_over(shape: tuple[int, ...], numbers: dict[str, Any], chunks: Any = None, **more: Any) -> Stream:
    operator = find_operator(more.pop("operator", "AvgPool2d"))
    values = tuple(({p.python_name: p.default for p in operator.numbers} | numbers).values())
    x = np.broadcast_to(np.float32(0), shape)
    whole = judged(operator, (x,), values, (None, None, None))
    return Stream(whole, (x,), chunks, **more)


@pytest.mark.parametrize(
    ("shape", "chunks", "sizes"),
    [
        ((1000, 64, 112, 112), None, (16, 64, 56, 56)),  # whole images, as many as the budget has
        ((100, 4096, 112, 112), None, (1, 1069, 56, 56)),  # channels of one
        ((1, 1, 100_000, 100_000), None, (1, 1, 67, 50_000)),  # rows of a plane, with those of their neighbours
        ((1000, 64, 112, 112), (3, 16, 56, 56), (15, 64, 56, 56)),  # whole chunks of the result
        ((1000, 64, 112, 112), (500, 64, 56, 56), (500, 64, 56, 56)),  # which may be larger than the budget
    ],
)
def test_blocks_are_as_large_as_the_budget_allows(shape: Any, chunks: Any, sizes: tuple[int, ...]) -> None:
    work = stream_over(shape, {"kernel_size": 2}, chunks)
    assert work.sizes == sizes
    assert bytes_of(work.whole, sizes) <= streams.BUDGET or chunks == sizes


def test_planes_that_can_not_be_divided_are_not() -> None:
    work = stream_over((1, 4, 9_000, 9_000), {"output_size": (7, 7)}, operator="AdaptiveAvgPool2d")
    assert work.sizes == (1, 1, 7, 7)
    assert work.count == 4
