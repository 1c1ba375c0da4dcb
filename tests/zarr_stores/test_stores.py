"""Zarr stores of both versions, compressed and not, whole and damaged: from the command line and in Python."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import dask.array as da
import ml_dtypes
import numpy as np
import pytest
import zarr
from cli.inside import poolgrad as command

import poolgrad
from poolgrad.arrays.files import BadFile
from poolgrad.arrays.stores import BITS_OF, UNFINISHED, open_store
from poolgrad.blocks import journal, streams
from poolgrad.blocks.calls import Block
from poolgrad.precision import comparing

X = np.random.default_rng(0).standard_normal((10, 4, 33, 41)).astype(np.float32)
NUMBERS = ("--kernel-size", "3", "--stride", "2", "--padding", "1")
POOL = ("run", "AvgPool2d", *NUMBERS, "-o", "y.zarr")
KINDS = {
    "v3": {"zarr_format": 3},
    "v2": {"zarr_format": 2},
    "v3-plain": {"zarr_format": 3, "compressors": None},
    "v2-plain": {"zarr_format": 2, "compressors": None},
    "v3-shards": {"zarr_format": 3, "shards": (4, 4, 32, 48)},
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streams, "BUDGET", 150_000)


def stored(array: np.ndarray = X, path: str = "x.zarr", kind: str = "v3", **more: Any) -> zarr.Array:
    options = {"chunks": (2, 4, 16, 24), "fill_value": 0} | KINDS[kind] | more
    made = zarr.create_array(store=path, shape=array.shape, dtype=array.dtype, **options)
    made[...] = array
    return made


def chunk_files(path: str = "x.zarr") -> list[Path]:
    return sorted(p for p in Path(path).rglob("*") if p.is_file() and not p.name.startswith((".z", "zarr.json")))


@EVERY_KIND
def test_from_store_to_store(kind: str) -> None:
    stored(kind=kind)
    said = command("run", "MaxPool2dWithIndices", "--x", "x.zarr", *NUMBERS, "-o", "v.zarr", "-o", "i.zarr").stdout
    assert said == "wrote v.zarr: float32 (10, 4, 17, 21)\nwrote i.zarr: int64 (10, 4, 17, 21)\n"
    expected = poolgrad.max_pool2d_with_indices(X, 3, 2, 1)
    for path, whole in zip(("v.zarr", "i.zarr"), expected, strict=True):
        made = zarr.open_array(path, mode="r")
        assert np.array_equal(made[...], whole)
        assert made.metadata.zarr_format == KINDS[kind]["zarr_format"]
        assert bool(made.compressors) == ("plain" not in kind)
        assert made.nchunks_initialized == made.nchunks > 1
    words = ("--grad-output", "v.zarr", "--indices", "i.zarr", "--x", "x.zarr")
    command("run", "MaxPool2dWithIndicesBackward", *words, *NUMBERS, "-o", "g.npy")
    gradient = poolgrad.max_pool2d_with_indices_backward(expected[0], X, expected[1], 3, 2, 1)
    assert np.array_equal(np.load("g.npy"), gradient)
    assert sorted(os.listdir()) == ["g.npy", "i.zarr", "v.zarr", "x.zarr"]


@EVERY_KIND
def test_out_of_python(kind: str) -> None:
    """Between stores whose chunks have nothing in common, and from memory."""
    x = stored(kind=kind)
    for source in (x, X):
        out = stored(np.zeros((10, 4, 17, 21), np.float32), "out.zarr", chunks=(3, 2, 5, 21), overwrite=True)
        assert poolgrad.avg_pool2d(source, 3, 2, 1, out=out) is out
        assert np.array_equal(out[...], poolgrad.avg_pool2d(X, 3, 2, 1))
        assert UNFINISHED not in out.attrs
    grad = np.empty_like(X)
    poolgrad.avg_pool2d_backward(out, x, 3, 2, 1, out=grad)
    assert np.array_equal(grad, poolgrad.avg_pool2d_backward(out[...], X, 3, 2, 1))


def test_results_have_all_their_chunks() -> None:
    """Also chunks of zeros, which Zarr leaves out by default: so a store that was cut off can be told."""
    stored(np.zeros_like(X), config={"write_empty_chunks": True})
    command("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
    made = zarr.open_array("y.zarr", mode="r")
    assert made.nchunks_initialized == made.nchunks > 1


def test_bfloat16_is_kept_as_bits() -> None:
    bits = X.astype(ml_dtypes.bfloat16)
    stored(bits.view(np.uint16))
    command("run", "AvgPool2d", "--x", "x.zarr", "--dtype", "bfloat16", *NUMBERS, "-o", "y.zarr")
    made, expected = zarr.open_array("y.zarr", mode="r"), poolgrad.avg_pool2d(bits, 3, 2, 1)
    assert made.attrs[BITS_OF] == "bfloat16"
    assert np.array_equal(made[...], expected.view(np.uint16))
    command("run", "AvgPool2dBackward", "--grad-output", "y.zarr", "--x", "10,4,33,41", *NUMBERS, "-o", "g.npy")
    gradient = poolgrad.avg_pool2d_backward(expected, X.shape, 3, 2, 1)
    assert np.load("g.npy").tobytes() == gradient.tobytes()


def test_bfloat16_through_dask() -> None:
    """As the documents say: Dask takes the bits for uint16 unless it is told."""
    bits = X.astype(ml_dtypes.bfloat16)
    stored(bits.view(np.uint16), attributes={BITS_OF: "bfloat16"})
    pooled = poolgrad.avg_pool2d(da.from_zarr("x.zarr").view(ml_dtypes.bfloat16), 3, 2, 1)
    pooled.view("u2").to_zarr("y.zarr")
    expected = poolgrad.avg_pool2d(bits, 3, 2, 1)
    assert zarr.open_array("y.zarr")[...].view(ml_dtypes.bfloat16).tobytes() == expected.tobytes()
    assert open_store("y.zarr", dtype="bfloat16")[...].tobytes() == expected.tobytes()


@pytest.mark.parametrize("version", [2, 3])
def test_the_other_byte_order(version: int) -> None:
    """Of what is read, and of an ``out``; also of bits. Version 2 has it in the type, version 3 in a codec."""
    order = ">" if version == 2 else "<"
    swapped = {"zarr_format": version} | ({} if version == 2 else {"serializer": zarr.codecs.BytesCodec(endian="big")})
    x = stored(X.astype(f"{order}f4"), **swapped, compressors=None)
    assert X[:2, :4, :16, :24].astype(">f4").tobytes() == chunk_files()[0].read_bytes()
    command("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
    expected = poolgrad.avg_pool2d(X, 3, 2, 1)
    assert np.array_equal(zarr.open_array("y.zarr")[...], expected)
    out = stored(np.zeros(expected.shape, f"{order}f4"), "out.zarr", **swapped)
    poolgrad.avg_pool2d(x, 3, 2, 1, out=out)
    assert np.array_equal(zarr.open_array("out.zarr")[...], expected)
    bits, marked = X.astype(ml_dtypes.bfloat16), {"attributes": {BITS_OF: "bfloat16"}}
    x = stored(bits.view(np.uint16).astype(f"{order}u2"), "bits.zarr", **swapped, **marked)
    out = stored(np.zeros(expected.shape, f"{order}u2"), "pooled.zarr", **swapped, **marked)
    poolgrad.avg_pool2d(x, 3, 2, 1, out=out)
    assert open_store("pooled.zarr")[...].tobytes() == poolgrad.avg_pool2d(bits, 3, 2, 1).tobytes()


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_in_a_group(version: int) -> None:
    zarr.create_group("g.zarr", zarr_format=version).create_group("deep")
    assert "g.zarr is a Zarr group without arrays" in command(*POOL, "--x", "g.zarr", expect=2).stderr
    stored(path="g.zarr/deep/x", zarr_format=version)
    said = command(*POOL, "--x", "g.zarr", expect=2).stderr
    assert "g.zarr is a Zarr group; give one of its arrays, such as g.zarr/deep/x" in said
    command(*POOL, "--x", "g.zarr/deep/x")
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))
    assert "g.zarr/deep/no: there is no such store" in command(*POOL, "--x", "g.zarr/deep/no", expect=2).stderr
    chunk_files("g.zarr/deep/x")[0].unlink()
    assert "g.zarr/deep/x lacks 1 of its" in command(*POOL, "--x", "g.zarr/deep/x", expect=2).stderr


@EVERY_KIND
def test_stores_are_compared(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the figures that files give, by whatever chunks they are read; the map of errors too."""
    monkeypatch.setattr(comparing, "BLOCK", 1000)
    other = X.copy()
    other[3, 2, 20, 30] += 1
    stored(kind=kind)
    stored(other, "other.zarr", chunks=(1, 1, 7, 41))
    for name, array in (("x", X), ("other", other)):
        np.save(f"{name}.npy", array)
    of_files = command("compare", "x.npy", "other.npy", "--html", "files.html", "--json", expect=1).stdout
    of_stores = command("compare", "x.zarr", "other.zarr", "--html", "stores.html", "--json", expect=1).stdout
    assert of_stores.replace(".zarr", ".npy").replace("stores.html", "files.html") == of_files
    written = [Path(f"{name}.html").read_text() for name in ("files", "stores")]
    assert written[1].replace(".zarr", ".npy") == written[0]
    command("compare", "x.npy", "x.zarr", "--standard", "binary")
    chunk_files()[0].unlink()
    assert "x.zarr lacks 1 of its" in command("compare", "x.zarr", "x.npy", expect=2).stderr
    command("compare", "x.zarr", "x.npy", "--fill-missing", expect=1)


@pytest.mark.parametrize("chunks", [(2, 3, 4), (1, 3, 2), (1, 1, 3), (1, 1, 1), (5, 6, 7)])
def test_elements_in_c_order(chunks: tuple[int, ...]) -> None:
    array = np.arange(1, 211, dtype=np.int32).reshape(5, 6, 7)
    stored(array, chunks=chunks)
    flat = open_store("x.zarr").flat
    for start in (0, 50, 100, 7, 209, 203):
        for stop in (start + 1, start + 60, 1000):
            assert np.array_equal(flat[start:stop], array.reshape(-1)[start:stop])
    zarr.create_array("one.zarr", shape=(), dtype="i4", fill_value=0, config={"write_empty_chunks": True})[...] = 5
    assert open_store("one.zarr").flat[0:1].tolist() == [5]


# ---- damaged stores --------------------------------------------------------------------------------------------------


@EVERY_KIND
def test_a_store_that_lacks_a_chunk(kind: str) -> None:
    x = stored(kind=kind)
    call = ("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
    looked = ("check", "AvgPool2d", "--x", "x.zarr", "--kernel-size", "1")
    command(*looked)
    files = chunk_files()
    files[2].unlink()
    key = files[2].relative_to("x.zarr")
    said = command(*call, expect=2).stderr
    assert f"x.zarr lacks 1 of its {len(files)} chunks, such as {key}, which Zarr would take for 0.0" in said
    assert "Copy the store again; or, if they are meant, say so with --fill-missing" in said
    command(*looked)  # which reads nothing of it
    drawn = ("view", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "plane.svg")
    assert "if they are meant, say so with --fill-missing" in command(*drawn, expect=2).stderr
    with pytest.raises(BadFile, match=r"lacks 1 of its .*if they are meant, pool dask\.array\.from_zarr"):
        poolgrad.avg_pool2d(x, 3, 2, 1, out=np.zeros((10, 4, 17, 21), np.float32))
    assert os.listdir() == ["x.zarr"]
    command(*call, "--fill-missing")
    command(*drawn, "--fill-missing")
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(x[...], 3, 2, 1))
    assert not np.array_equal(x[...], X)


def test_chunks_that_nobody_reads_may_be_missing() -> None:
    """Of the x of a gradient only the type and the shape count."""
    x = stored()
    chunk_files()[2].unlink()
    x.attrs[UNFINISHED] = True
    gradient = poolgrad.avg_pool2d(X, 3, 2, 1)
    np.save("g.npy", gradient)
    command("run", "AvgPool2dBackward", "--grad-output", "g.npy", "--x", "x.zarr", *NUMBERS, "-o", "y.npy")
    assert np.array_equal(np.load("y.npy"), poolgrad.avg_pool2d_backward(gradient, X, 3, 2, 1))


def test_a_missing_chunk_without_a_fill_value_is_never_filled() -> None:
    stored(kind="v2", fill_value=None)
    chunk_files()[0].unlink()
    call = ("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr", "--fill-missing")
    assert "and has no fill value" in command(*call, expect=2).stderr


@EVERY_KIND
@pytest.mark.parametrize("length", [0, 100])
def test_a_chunk_that_is_cut_off(kind: str, length: int) -> None:
    """Nothing that looks like a result is left, and when the chunk is whole again the run goes on."""
    stored(kind=kind)
    damaged = chunk_files()[-1]
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:length])
    call = ("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
    said = re.sub(r"\s+", " ", command(*call, expect=2).stderr)
    assert re.search(rf"x.zarr\[.*\] can't be read: .*, in chunk {damaged.relative_to('x.zarr')}; copy the store", said)
    assert not Path("y.zarr").exists()
    damaged.write_bytes(whole)
    command(*call)
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))


def test_an_unfinished_result_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that a caller gave can't be hidden until it is complete; it says that it is not, and is not read."""
    x, out = stored(), stored(np.zeros((10, 4, 17, 21), np.float32), "out.zarr")

    def broken(*given: Any, **named: Any) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Block, "compute", broken)
        with pytest.raises(OSError, match="the disk is gone"):
            poolgrad.avg_pool2d(x, 3, 2, 1, out=out)
    assert out.attrs[UNFINISHED]
    with pytest.raises(BadFile, match="was left unfinished; make it anew"):
        open_store("out.zarr")
    poolgrad.avg_pool2d(x, 3, 2, 1, out=out)
    assert open_store("out.zarr").shape == out.shape


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda: None, "x.zarr: there is no such store; expected a directory"),
        (lambda: Path("x.zarr").mkdir(), "x.zarr is no Zarr array of version 2 or 3"),
        (lambda: zarr.open_group("x.zarr", mode="w"), "x.zarr is a Zarr group without arrays"),
        (lambda: (stored(), Path("x.zarr/zarr.json").write_text("{")), "x.zarr is no Zarr array of version 2 or 3"),
        (lambda: stored(X.astype(np.int32)), "expected dtype"),
        (lambda: stored(X[0, 0], chunks=(16, 24)), "rank"),
    ],
)
def test_what_is_no_store(prepare: Any, words: str) -> None:
    prepare()
    answer = command("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr", expect=None)
    assert answer.code in (1, 2)
    assert words in re.sub(r"\s+", " ", answer.stderr + answer.stdout)
    assert not Path("y.zarr").exists()


# ---- what is not taken -----------------------------------------------------------------------------------------------


def test_refused_kindly() -> None:
    x = stored()
    with pytest.raises(TypeError, match="out must be given for Zarr arrays, which may be larger than memory"):
        poolgrad.avg_pool2d(x, 2)
    with pytest.raises(TypeError, match="masks are one stream over all images"):
        poolgrad.max_pool2d_with_mask(x, 2, out=(x, x))
    with pytest.raises(poolgrad.AclnnError, match="161002"):
        poolgrad.avg_pool2d(x, 2, out=x)
    with pytest.raises(ValueError, match="out must be another array than those that are read"):
        poolgrad.avg_pool2d(x, 3, 1, 1, out=zarr.open_array("x.zarr"))
    said = command("run", "MaxPool2dWithMask", "--x", "x.zarr", *NUMBERS, "-o", "v.npy", "-o", "m.npy", expect=2).stderr
    assert "x.zarr: masks are not made or read in blocks; use .npy files, or poolgrad.dask in Python" in said
    out = [
        stored(np.zeros((10, 4, 16, 20), t), f"{t}.zarr", chunks=c)
        for t, c in (("f4", (1, 4, 16, 20)), ("i8", (5, 4, 16, 20)))
    ]
    with pytest.raises(ValueError, match="the same chunks in all its arrays"):
        poolgrad.max_pool2d_with_indices(x, 2, out=tuple(out))
    with pytest.raises(TypeError, match=r"out must be a tuple of 2 arrays, for out, indices, got Array"):
        poolgrad.max_pool2d_with_indices(x, 2, out=out[0])
    with pytest.raises(TypeError, match=r"got \(Array\)"):
        poolgrad.max_pool2d_with_indices(x, 2, out=(out[0],))


def test_a_group_is_no_array() -> None:
    x, group = stored(), zarr.open_group("group.zarr", mode="w")
    out = np.zeros((10, 4, 17, 21), np.float32)
    for call in (
        lambda: poolgrad.avg_pool2d(x, 3, 2, 1, out=group),
        lambda: poolgrad.avg_pool2d(group, 3, 2, 1, out=x),
        lambda: poolgrad.avg_pool2d(group, 3, 2, 1, out=out),
        lambda: poolgrad.avg_pool2d(group, 3, 2, 1),
        lambda: poolgrad.avg_pool2d_backward(out, group, 3, 2, 1, out=x),
    ):
        with pytest.raises(TypeError, match=r"got a Zarr Group\. Give one of its arrays\."):
            call()


def test_a_store_is_looked_at_by_other_commands() -> None:
    stored()
    assert "accepted" in command("check", "AvgPool2d", "--x", "x.zarr", "--kernel-size", "2").stdout
    command("view", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "--plane", "0,1", "-o", "plane.svg")
    assert Path("plane.svg").stat().st_size


# ---- what a result may take the place of -----------------------------------------------------------------------------


def _group() -> None:
    made = zarr.open_group("y.zarr", mode="w").create_array("inside", shape=(3,), dtype="f4")
    made[...] = 1


def _directory() -> None:
    Path("y.zarr").mkdir()
    Path("y.zarr/thesis.txt").write_text("years of work")


def _link() -> None:
    stored(path="elsewhere.zarr")
    Path("y.zarr").symlink_to("elsewhere.zarr")


@pytest.mark.parametrize(
    ("out", "prepare", "words"),
    [
        ("y.zarr", _group, "y.zarr can't be written: it is a directory that is no Zarr array"),
        ("y.zarr", _directory, "y.zarr can't be written: it is a directory that is no Zarr array"),
        ("y.zarr", _link, "y.zarr can't be written: it is a link"),
        ("y.zarr", lambda: Path("y.zarr").symlink_to("nowhere"), "y.zarr can't be written: it is a link"),
        ("y.zarr", lambda: Path("y.zarr").write_text("mine"), "y.zarr can't be written: it is a file"),
        ("y.npy", lambda: Path("y.npy").mkdir(), "y.npy can't be written: it is a directory"),
        ("y.npy", lambda: os.mkfifo("y.npy"), "y.npy can't be written: it is no ordinary file"),
        ("in/x.zarr", lambda: None, "--out: in/x.zarr is the file of --x"),
        ("in/x.zarr/y.zarr", lambda: None, "--out: in/x.zarr/y.zarr lies inside in/x.zarr"),
        ("link/x.zarr/y.npy", lambda: Path("link").symlink_to("in"), "link/x.zarr/y.npy lies inside in/x.zarr"),
        ("out.zarr", lambda: Path("in").rename("out.zarr"), "--out: out.zarr contains out.zarr/x.zarr"),
    ],
)
def test_what_a_result_must_not_replace(out: str, prepare: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before anything is computed, and nothing is touched."""
    Path("in").mkdir()
    stored(path="in/x.zarr")
    prepare()
    read = "in/x.zarr" if Path("in").exists() else "out.zarr/x.zarr"
    before = {p: p.read_bytes() if p.is_file() else b"" for p in Path().rglob("*")}
    monkeypatch.setattr(Block, "compute", lambda *_, **__: pytest.fail("nothing must be computed"))
    said = re.sub(r"\s+", " ", command("run", "AvgPool2d", "--x", read, *NUMBERS, "-o", out, expect=2).stderr)
    assert words in said
    assert "choose another name" in said
    assert {p: p.read_bytes() if p.is_file() else b"" for p in Path().rglob("*")} == before


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("no/i.zarr", "no/i.zarr can't be written: there is no directory no"),
        ("i.txt", "--out: i.txt: expected a name that ends in .npy, .bin or .zarr"),
        ("in/../v.zarr", "--out: in/../v.zarr can't be two results"),
        ("v.zarr/i.zarr", "--out: v.zarr/i.zarr and v.zarr can't lie inside each other"),
    ],
)
def test_the_second_result_is_looked_at_before_the_first_is_begun(second: str, words: str) -> None:
    stored()
    Path("in").mkdir()
    call = ("run", "MaxPool2dWithIndices", "--x", "x.zarr", *NUMBERS, "-o", "v.zarr", "-o", second)
    assert words in re.sub(r"\s+", " ", command(*call, expect=2).stderr)
    assert sorted(os.listdir()) == ["in", "x.zarr"]


@pytest.mark.parametrize("kind", ["v2", "v3"])
def test_a_result_replaces_an_array(kind: str) -> None:
    stored()
    stored(X[0, 0], "y.zarr", kind, chunks=(16, 24))
    command("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))
    assert sorted(os.listdir()) == ["x.zarr", "y.zarr"]


def test_what_has_come_during_a_run_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    stored()
    compute = Block.compute

    def with_a_directory(block: Block, *read: Any, **more: Any) -> Any:
        Path("y.zarr").mkdir(exist_ok=True)
        return compute(block, *read, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Block, "compute", with_a_directory)
        call = ("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")
        assert "is a directory that is no Zarr array" in re.sub(r"\s+", " ", command(*call, expect=2).stderr)
    Path("y.zarr").rmdir()
    monkeypatch.setattr(Block, "compute", lambda *_, **__: pytest.fail("all blocks are there"))
    command(*call)
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))


# ---- going on --------------------------------------------------------------------------------------------------------

TO_STORE = ("run", "AvgPool2d", "--x", "x.zarr", *NUMBERS, "-o", "y.zarr")


def broken_off(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A run that ends before its third block; the blocks that later runs compute."""
    made: list[Any] = []
    compute = Block.compute

    def recorded(block: Block, *read: Any, **more: Any) -> Any:
        made.append(block.ranges)
        return compute(block, *read, **more)

    def until_the_third(block: Block, *read: Any, **more: Any) -> Any:
        if len(made) == 2:
            raise OSError(5, "Input/output error")
        return recorded(block, *read, **more)

    monkeypatch.setattr(Block, "compute", until_the_third)
    command(*TO_STORE, expect=2)
    made.clear()
    monkeypatch.setattr(Block, "compute", recorded)
    return made


def blocks_in_all() -> int:
    return zarr.open_array("y.zarr", mode="r").nchunks


@EVERY_KIND
def test_a_chunk_that_has_changed_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What describes the store is as it was: only a chunk of the first block has other numbers."""
    x = stored(kind=kind)
    made = broken_off(monkeypatch)
    x[0, 0, 0, 0] = 100
    command(*TO_STORE)
    assert len(made) == blocks_in_all() > 2
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(x[...], 3, 2, 1))


@pytest.mark.parametrize("kind", ["v2", "v3"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["gone", "empty"])
def test_a_chunk_of_the_result_that_is_lost_is_made_again(kind: str, damage: Any, monkeypatch: Any) -> None:
    stored(kind=kind)
    made = broken_off(monkeypatch)
    damage(chunk_files(".y.zarr.part")[0])
    command(*TO_STORE)
    assert len(made) == blocks_in_all() - 1, "one of two was left"
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))


def test_a_result_that_lost_a_chunk_gets_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stored()
    compute = Block.compute

    def losing(block: Block, *read: Any, **more: Any) -> Any:
        for file in chunk_files(".y.zarr.part"):
            file.unlink()
        return compute(block, *read, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Block, "compute", losing)
        said = command(*TO_STORE, expect=2).stderr
    assert "chunks that were written are gone; run the same command again" in re.sub(r"\s+", " ", said)
    assert not Path("y.zarr").exists()
    command(*TO_STORE)
    assert np.array_equal(zarr.open_array("y.zarr")[...], poolgrad.avg_pool2d(X, 3, 2, 1))


@pytest.mark.parametrize("kind", ["v2", "v3"])
def test_the_disk_has_what_is_noted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_NOTES", 0)
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (kept.append(os.readlink(f"/proc/self/fd/{file}")), sync(file)))
    stored(kind=kind)
    command(*TO_STORE)
    places = [path.replace(".y.zarr.part", "y.zarr") for path in kept]
    for file in chunk_files("y.zarr"):
        chunk = places.index(str(file.absolute()))
        assert str(file.absolute().parent) in places[chunk:]
        assert any(path.endswith(".journal") for path in places[chunk:])
