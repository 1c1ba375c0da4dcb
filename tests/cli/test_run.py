"""``poolgrad run``: files in, the golden file out, or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_files import write_array
from cli import command
from cli.inside import poolgrad
from cli.stand_ins import add_second_output

from poolgrad.arrays.files import read_array
from poolgrad.selftest import reference

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
AVG, MAX = "AvgPool2dBackward", "MaxPool2dWithIndicesBackward"
ADAPTIVE_AVG, ADAPTIVE_MAX = "AdaptiveAvgPool3dBackward", "AdaptiveMaxPool2dBackward"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def whole_numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Multiples of 36: their shares in windows of 1, 2, 3, 4, 6 or 9 elements are exact in every type."""
    return (36 * np.random.default_rng(1).integers(-3, 4, shape)).astype(dtype)


@pytest.mark.parametrize("suffix", [".npy", ".bin"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BFLOAT16], ids=lambda d: np.dtype(d).name)
def test_averages_are_those_of_the_reference(dtype: Any, suffix: str) -> None:
    grad = whole_numbers((2, 3, 4, 3), dtype)
    write_array(f"g{suffix}", grad)
    told = ("--dtype", np.dtype(dtype).name, "--shape", "2,3,4,3") if suffix == ".bin" else ()
    numbers = ("--kernel-size", "3,2", "--stride", "2", "--padding", "1", "--ceil-mode", "--no-count-include-pad")
    call = (AVG, "--grad-output", f"g{suffix}", "--x-shape", "2,3,6,4", *numbers)
    assert (
        f"wrote out{suffix}: {np.dtype(dtype).name} (2, 3, 6, 4)"
        in poolgrad("run", *call, *told, "-o", f"out{suffix}").stdout
    )
    wanted = reference.avg_pool2d_backward(grad, (2, 3, 6, 4), (3, 2), (2, 2), (1, 1), True, False)
    got = read_array(f"out{suffix}", dtype=dtype, shape=(2, 3, 6, 4))
    assert np.array_equal(got.astype(np.float64), wanted)


def test_all_operators_run() -> None:
    generator = np.random.default_rng(2)
    write_array("g3.npy", generator.standard_normal((2, 2, 3, 2)).astype(np.float32))
    write_array("g.npy", whole_numbers((1, 2, 3, 3), BFLOAT16))
    x = generator.standard_normal((1, 2, 7, 6))
    fixed = reference.max_pool_indices(x, (3, 2), (2, 2), (0, 0))
    adaptive = reference.adaptive_max_pool_indices(x, (3, 3))
    write_array("fixed.npy", np.moveaxis(fixed, 1, -1).copy())
    adaptive.astype(np.int32).tofile("adaptive.bin")
    write_array("last.npy", np.moveaxis(read_array("g.npy"), 1, -1).copy())
    write_array("x.npy", np.zeros((1, 2, 7, 6), BFLOAT16))

    poolgrad("run", ADAPTIVE_AVG, "--grad-output", "g3.npy", "--x", "2,4,5,4", "-o", "a.npy", "--product", "Ascend310P")
    wanted = reference.adaptive_avg_pool3d_backward(read_array("g3.npy"), (2, 4, 5, 4))
    np.testing.assert_allclose(read_array("a.npy"), wanted, rtol=2e-6, atol=1e-7)

    poolgrad(
        *("run", MAX, "--grad-output", "last.npy", "--indices", "fixed.npy", "--x", "1,7,6,2", "--format", "NHWC"),
        *("--kernel-size", "3,2", "--stride", "2", "--product", "Ascend 950", "-o", "m.npy"),
    )
    wanted = reference.max_pool2d_with_indices_backward(
        read_array("last.npy"), (1, 7, 6, 2), read_array("fixed.npy"), "NHWC"
    )
    assert np.array_equal(read_array("m.npy").astype(np.float32), wanted)

    said = poolgrad(
        "run",
        ADAPTIVE_MAX,
        "--grad-output",
        "g.npy",
        "--indices",
        "adaptive.bin",
        "--x",
        "x.npy",
        "-o",
        "am.npy",
        "--json",
    ).data
    assert said == {
        "operator": "aclnnAdaptiveMaxPool2dBackward",
        "product": None,
        "accepted": True,
        "status": 0,
        "status_name": "ACL_SUCCESS",
        "out": "am.npy",
        "dtype": "bfloat16",
        "shape": [1, 2, 7, 6],
    }
    wanted = reference.adaptive_max_pool2d_backward(read_array("g.npy"), (1, 2, 7, 6), adaptive)
    assert np.array_equal(read_array("am.npy").astype(np.float32), wanted)


@pytest.mark.parametrize("product", ["Atlas A2", "Atlas training series"])
def test_a_mask_may_come_from_a_device(product: str) -> None:
    """Bytes that say nothing of their shape: it follows from the input and the windows."""
    x = whole_numbers((2, 17, 7, 9), np.float16)
    np.save("x.npy", x)
    words = ("--kernel-size", "3", "--stride", "2", "--product", product)
    poolgrad("run", "MaxPool2dWithMask", "--x", "x.npy", *words, "-o", "values.npy", "-o", "mask.bin")
    values = np.load("values.npy")
    values.tofile("values.bin")
    read = ("--grad-output", "values.bin", "--dtype", "float16", "--shape", "2,17,3,4", "--mask", "mask.bin")
    poolgrad("run", "MaxPool2dWithMaskBackward", *read, "--x-shape", "2,17,7,9", *words, "-o", "out.npy")
    indices = reference.max_pool_indices(x, (3, 3), (2, 2), (0, 0))
    expected = reference.max_pool2d_with_indices_backward(values, x.shape, indices).astype(np.float16)
    assert np.load("out.npy").tobytes() == expected.tobytes()


def test_the_product_decides_what_is_computed() -> None:
    """cubeMathType 3 rounds to HF32 on Atlas A2 and keeps float32 on the 950, outside of global pooling."""
    grad = np.full((1, 1, 2, 2), 1 + 2**-13, np.float32)
    write_array("g.npy", grad)
    call = ("run", AVG, "--grad-output", "g.npy", "--x", "1,1,2,2", "--kernel-size", "1", "--cube-math-type", "3")
    poolgrad(*call, "--product", "Atlas A2", "-o", "a2.npy")
    poolgrad(*call, "--product", "Ascend 950", "-o", "950.npy")
    assert read_array("a2.npy").tolist() == [[[[1.0] * 2] * 2]]
    assert np.array_equal(read_array("950.npy"), grad)


@pytest.mark.parametrize(
    ("option", "file"),
    [("--grad-output", "g.npy"), ("--indices", "i.npy"), ("--x", "x.npy"), ("--grad-output", "b.bin")],
)
def test_the_result_never_takes_the_place_of_an_input(option: str, file: str) -> None:
    write_array("g.npy", whole_numbers((1, 1, 2, 2)))
    write_array("b.bin", whole_numbers((1, 1, 2, 2)))
    write_array("i.npy", np.zeros((1, 1, 2, 2), np.int32))
    write_array("x.npy", np.zeros((1, 1, 4, 4), np.float32))
    files = {"--grad-output": "g.npy", "--indices": "i.npy", "--x": "x.npy"} | {option: file}
    (Path.cwd() / f"link{Path(file).suffix}").symlink_to(file)
    os.link(file, f"twin{Path(file).suffix}")
    there = {path.name: path.read_bytes() for path in Path().iterdir()}
    given = [word for pair in files.items() for word in pair]
    told = ("--dtype", "float32", "--shape", "1,1,2,2") if file == "b.bin" else ()
    for out in (file, f"./{file}", Path.cwd() / file, f"link{Path(file).suffix}", f"twin{Path(file).suffix}"):
        done = poolgrad("run", MAX, *given, "--kernel-size", 2, *told, "-o", out, expect=2)
        assert f"--out: {Path(out)} is the file of {option}; choose another name" in done.stderr
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == there
    poolgrad("run", MAX, *given, "--kernel-size", 2, *told, "-o", "out.npy")


def test_a_refused_call_writes_nothing() -> None:
    write_array("g.npy", whole_numbers((1, 1, 2, 2)))
    write_array("i.npy", np.array([[[[0, 5], [16, 0]]]], np.int32))
    call = ("run", AVG, "--grad-output", "g.npy", "--x", "1,1,4,4", "-o", "out.npy")
    shown = poolgrad(*call, "--kernel-size", "3", "--padding", "2", expect=1).stdout
    assert "padding-half" in shown
    data = poolgrad(*call, "--kernel-size", "2", "--product", "Ascend310B", "--json", expect=1).data
    assert (data["status"], data["rule"], data["accepted"]) == (161002, "product", False)
    call = ("run", MAX, "--grad-output", "g.npy", "--indices", "i.npy", "--x", "1,1,4,4", "--kernel-size", "2")
    shown = poolgrad(*call, "-o", "out.npy", expect=1).stdout
    assert "indices[0, 0, 1, 0] = 16 is outside its plane of 4x4" in shown
    data = poolgrad(*call, "-o", "out.npy", "--json", expect=1).data
    assert (data["status"], data["parameter"], data["accepted"]) == (507015, "indices", False)
    data = poolgrad(
        "run", AVG, "--grad-output", "null", "--x", "1,1,4,4", "--kernel-size", "2", "-o", "out.npy", "--json", expect=1
    )
    assert data.data["status"] == 161001
    assert sorted(os.listdir()) == ["g.npy", "i.npy"]


BAD = [
    (("--grad-output", "no.npy"), "no.npy: there is no such file"),
    (("--grad-output", "cut.npy"), "is cut off"),
    (("--grad-output", "pickled.npy"), "never opened"),
    (("--grad-output", "g.bin"), "give --dtype and --shape"),
    (("--grad-output", "g.bin", "--dtype", "float32", "--shape", "1,1,1,2"), "takes 8 bytes, and it has 4 bytes"),
    (("--grad-output", "g.npy", "--dtype", "float16"), "holds float32, and not float16"),
    (("--grad-output", "1,1,1,1"), "--grad-output: expected an .npy file"),
    (("--grad-output", "g.npy", "-o", "no/out.npy"), "there is no directory no"),
    (("--grad-output", "g.npy", "-o", "out.txt"), "ends in .npy, .bin or .zarr"),
    (("--grad-output", "g.npy", "--indices", "g.npy"), "has no --indices"),
    (
        ("--grad-output", "g.npy", "--x", f"1,1,{1 << 29},{1 << 29}", "--kernel-size", f"{1 << 29}"),
        "takes 1.0 EiB, and the disk has",
    ),
    (("--grad-output", "g.npy", "--x", "x.npy"), "x.npy: there is no such file"),
    (("--grad-output",), "requires an argument"),
    (("--grad-output", "g.npy", "--divisor-override", "x"), "--divisor-override"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_files_are_one_clear_line(words: tuple[str, ...], said: str) -> None:
    write_array("g.npy", np.ones((1, 1, 1, 1), np.float32))
    write_array("g.bin", np.ones((1, 1, 1, 1), np.float32))
    Path("cut.npy").write_bytes(Path("g.npy").read_bytes()[:-1])
    np.save("pickled.npy", np.array([{}]), allow_pickle=True)
    before = sorted(os.listdir())
    defaults = ("--x", "1,1,2,2", "--kernel-size", "2", "-o", "out.npy")
    done = poolgrad("run", AVG, *defaults, *words, expect=2)
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert sorted(os.listdir()) == before


def test_every_result_has_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one result the last file counts, as of every option that is given twice; of several there is one for each."""
    write_array("g.npy", np.ones((1, 1, 1, 1), np.float32))
    call = ("run", AVG, "--grad-output", "g.npy", "--x", "1,1,2,2", "--kernel-size", "2", "-o", "a.npy")
    poolgrad(*call, "-o", "b.npy")
    assert sorted(os.listdir()) == ["b.npy", "g.npy"]
    add_second_output(monkeypatch, "aclnnAvgPool2dBackward")
    said = poolgrad(*call, expect=2).stderr
    assert "--out: expected 2 files, for gradInput, places, got 1; give --out once for each" in said
    three = poolgrad(*call, "-o", "c.npy", "-o", "d.npy", expect=2).stderr
    assert "--out: expected 2 files, for gradInput, places, got 3" in three
    assert "--out: a.npy can't be two results" in poolgrad(*call, "-o", "./a.npy", expect=2).stderr
    assert "--out: g.npy is the file of --grad-output" in poolgrad(*call, "-o", "g.npy", expect=2).stderr
    assert sorted(os.listdir()) == ["b.npy", "g.npy"]


def test_indices_are_asked_for() -> None:
    write_array("g.npy", np.ones((1, 1, 1, 1), np.float32))
    call = ("run", MAX, "--grad-output", "g.npy", "--x", "1,1,2,2", "--kernel-size", "2", "-o", "out.npy")
    assert "--indices: expected an .npy file" in poolgrad(*call, expect=2).stderr


def test_a_process_does_as_it_is_told() -> None:
    """The whole way of a user: a process, files, and pipes without colours."""
    write_array("g.npy", np.ones((1, 16, 1, 1), np.float32))
    call = ("run", AVG, "--grad-output", "g.npy", "--x-shape", "1,16,4,4", "--kernel-size", 4, "-o")
    assert command.poolgrad(*call, "out.npy").stdout == "wrote out.npy: float32 (1, 16, 4, 4)\n"
    assert set(read_array("out.npy").ravel().tolist()) == {0.0625}
    assert json.loads(command.poolgrad(*call, "out.bin", "--json").stdout)["out"] == "out.bin"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing(number: signal.Signals, code: int) -> None:
    write_array("g.npy", np.ones((1, 16, 512, 512), np.float32))
    call = ["run", AVG, "--grad-output", "g.npy", "--x", "1,16,1024,1024", "--kernel-size", "2", "-o", "out.npy"]
    running = subprocess.Popen([sys.executable, "-m", "poolgrad", *call], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(Path().glob(".out.*")) and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code, said
    assert said.endswith("poolgrad: interrupted; nothing was written\n")
    assert "Traceback" not in said
    assert os.listdir() == ["g.npy"]


# So large windows with so small a stride take minutes; nobody waits that long.
LONG = ("--x", "1,1,3072,3072", "--kernel-size", "800", "--stride", "1")


def test_a_long_run_says_how_far_it_is_and_ctrl_c_ends_it() -> None:
    """In a terminal, a moment after its kernel has begun."""
    write_array("g.npy", np.ones((1, 1, 2273, 2273), np.float32))
    ours, its = pty.openpty()
    call = [sys.executable, "-m", "poolgrad", "run", AVG, "--grad-output", "g.npy", *LONG, "-o", "out.npy"]
    running = subprocess.Popen(call, stdout=its, stderr=its, env=os.environ | {"TERM": "xterm", "COLUMNS": "100"})
    os.close(its)
    seen = ""

    def read() -> str:
        nonlocal seen
        with contextlib.suppress(OSError):  # the other end is closed
            seen += os.read(ours, 1 << 16).decode(errors="replace")
        return seen

    try:
        while not re.search(r"aclnnAvgPool2dBackward.*[1-9]%.*\d:\d\d:\d\d", read()):
            assert running.poll() is None, seen
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert "poolgrad: interrupted" in read()
        assert os.listdir() == ["g.npy"]
    finally:
        running.kill()
        running.wait()
        os.close(ours)


@pytest.mark.parametrize(("operator", "axes"), [("AdaptiveAvgPool2d", 2), ("AdaptiveAvgPool3d", 3)])
def test_one_output_size_stands_for_all_axes_as_in_python(operator: str, axes: int) -> None:
    np.save("x.npy", whole_numbers((2, 3, *(6,) * axes)))
    for size, name in (("3", "one.npy"), (",".join(["3"] * axes), "all.npy")):
        done = poolgrad("run", operator, "--x", "x.npy", "--output-size", size, "-o", name)
        assert done.code == 0, done.stderr
    assert Path("one.npy").read_bytes() == Path("all.npy").read_bytes()
    assert np.load("one.npy").shape == (2, 3, *(3,) * axes)
    line = ("--x", "2,3" + ",6" * axes, "--output-size", "[3]", "--product", "A2")
    checked = poolgrad("check", operator, *line, expect=1)
    assert "outputSize-length" in checked.stdout, "a list of one is what the contract refuses"


def test_the_help_is_right_about_the_type_of_indices() -> None:
    help = " ".join(poolgrad("run", "--help").stdout.replace("│", " ").split())
    assert "if absent, int32 of those given, and of those found int64 or the product's" in help
    np.save("x.npy", whole_numbers((1, 1, 4, 4)))
    for options, dtype in (((), np.int64), (("--product", "A2"), np.int32), (("--indices-dtype", "int32"), np.int32)):
        call = ("MaxPool2dWithIndices", "--x", "x.npy", "--kernel-size", "2", *options)
        assert poolgrad("run", *call, "-o", "values.npy", "-o", "indices.npy").code == 0
        assert np.load("indices.npy").dtype == dtype
    np.save("g.npy", whole_numbers((1, 1, 2, 2)))
    np.array([0, 3, 8, 15], np.int32).tofile("places.bin")
    call = (ADAPTIVE_MAX, "--grad-output", "g.npy", "--x-shape", "1,1,4,4", "--indices", "places.bin")
    assert poolgrad("run", *call, "-o", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy").ravel()[[0, 3, 8, 15]], np.load("g.npy").ravel())
