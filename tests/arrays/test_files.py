"""Arrays in files: they come back as they were, and a bad file is one clear line."""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_files import write_array

from poolgrad.arrays import files
from poolgrad.arrays.files import BadFile, create_array, numpy_dtype, read_array, whole_file

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ["float64", "float32", "float16", BFLOAT16, "int64", "int32", "uint8", "bool"]


def some_bits(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Any bits that the type may have, NaNs with payloads among them."""
    generator = np.random.default_rng(5)
    if dtype.kind == "b":
        return np.asarray(generator.random(shape) < 0.5)
    raw = generator.bytes(int(np.prod(shape)) * dtype.itemsize)
    return np.frombuffer(raw, dtype).reshape(shape)


def line_of(error: pytest.ExceptionInfo[BadFile]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("suffix", [".npy", ".bin", ".NPY"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (), (0,), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_was_written_is_read(dtype: Any, shape: tuple[int, ...], suffix: str, tmp_path: Path) -> None:
    array = some_bits(np.dtype(dtype), shape)
    path = tmp_path / f"a{suffix}"
    write_array(path, array)
    told = {"dtype": dtype, "shape": shape} if suffix == ".bin" else {}
    back = read_array(path, **told)
    assert (type(back), back.dtype, back.shape) == (np.ndarray, np.dtype(dtype), shape)
    assert back.tobytes() == array.tobytes()
    assert not back.flags.writeable
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_and_we_read_each_other(dtype: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = some_bits(np.dtype(dtype), shape)
    np.save(tmp_path / "numpy.npy", array)
    write_array(tmp_path / "ours.npy", array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    assert read_array(tmp_path / "numpy.npy").tobytes() == array.tobytes()


def test_arrays_in_any_order_are_read_and_written(tmp_path: Path) -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(array))
    assert np.array_equal(read_array(tmp_path / "fortran.npy"), array)
    write_array(tmp_path / "view.bin", array[::-1, :, ::2])
    assert np.array_equal(np.fromfile(tmp_path / "view.bin"), array[::-1, :, ::2].ravel())


def test_reading_maps_and_takes_no_memory(tmp_path: Path) -> None:
    with create_array(tmp_path / "large.npy", "float32", (1 << 26,)) as large:
        large[-1] = 7
    code = f"""if True:
        import resource
        from poolgrad.arrays.files import read_array
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        array = read_array({str(tmp_path / "large.npy")!r})
        assert array[-1] == 7
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert grown < 32 << 10  # KiB, of 256 MiB


def test_sixteen_bit_integers_may_be_told_to_be_bfloat16(tmp_path: Path) -> None:
    array = some_bits(BFLOAT16, (3, 5))
    np.save(tmp_path / "bits.npy", array.view(np.uint16))
    assert read_array(tmp_path / "bits.npy").dtype == np.uint16
    back = read_array(tmp_path / "bits.npy", dtype="bf16")
    assert back.dtype == BFLOAT16
    assert back.tobytes() == array.tobytes()


def test_names_of_types() -> None:
    assert numpy_dtype("FP16") == np.float16
    assert numpy_dtype("bf16") is numpy_dtype("bfloat16") is numpy_dtype(ml_dtypes.bfloat16) is BFLOAT16
    for wrong in ("floaty", "object", ">f4", np.dtype(">f4"), np.dtype("V2"), object, np.longdouble):
        with pytest.raises(ValueError, match="float64, float32"):
            numpy_dtype(wrong)


class Trap:
    """What a hostile pickle does when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("sprung",)


def test_pickles_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("object.npy", np.array([Trap()]), allow_pickle=True)
    Path("plain.npy").write_bytes(pickle.dumps(Trap()))
    np.savez("archive.npz", a=np.ones(3))
    os.rename("archive.npz", "archive.npy")
    for name, word in (("object", "pickled Python objects"), ("plain", "pickle"), ("archive", "numpy.save")):
        with pytest.raises(BadFile, match=word) as error:
            read_array(f"{name}.npy")
        assert f"{name}.npy" in line_of(error)
    assert not Path("sprung").exists()
    pickle.loads(Path("plain.npy").read_bytes())  # it would have sprung
    assert Path("sprung").exists()


def test_every_cut_of_a_file_is_found(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.arange(6, dtype=np.float32))
    whole = (tmp_path / "whole.npy").read_bytes()
    path = tmp_path / "cut.npy"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(BadFile, match=r"cut off|empty") as error:
            read_array(path)
        line_of(error)
    path.write_bytes(whole + b"x")
    with pytest.raises(BadFile, match=r"something behind its array.*takes 24 bytes, and it has 25 bytes"):
        read_array(path)


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "no array has the shape"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (9, 9)}", "cut off: float32 of shape .9, 9. takes 324"),
        (f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**30},)}}", "no array has the shape"),
        (f"{{'descr': '<f4', 'fortran_order': False, 'shape': (0, {2**62}, 8)}}", "no array has the shape"),
        (f"{{'descr': '<f4', 'fortran_order': False, 'shape': {(1,) * 65}}}", "65 axes"),
        ("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", "other byte order"),
        ("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (3,)}", "datetime64"),
        ("{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", "expected float64"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "expected float64"),
        ("{'descr': '<f4', 'fortran_order': False}", "header"),
        ("{'descr': 'what', 'fortran_order': False, 'shape': (3,)}", "header"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "header"),
        ("__import__('os').mkdir('sprung')", "header"),
        ("(" * 500, "header"),
        ("\xff\x00", "header"),
    ],
)
def test_strange_headers_are_refused(header: str, word: str, tmp_path: Path) -> None:
    text = header.encode("latin1").ljust(4096) + b"\n"
    path = tmp_path / "strange.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(12))
    with pytest.raises(BadFile, match=word) as error:
        read_array(path)
    assert "strange.npy" in line_of(error)


def test_a_bin_file_is_as_told_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(24))
    with pytest.raises(BadFile, match="give its dtype and shape"):
        read_array(path)
    with pytest.raises(BadFile, match="give its shape"):
        read_array(path, dtype="float32")
    with pytest.raises(BadFile, match=r"float32 of shape \(7,\) takes 28 bytes, and it has 24"):
        read_array(path, dtype="float32", shape=(7,))
    with pytest.raises(BadFile, match="no array has the shape"):
        read_array(path, dtype="float32", shape=(-1,))
    with pytest.raises(BadFile, match="dtype floaty"):
        read_array(path, dtype="floaty", shape=(6,))
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    with pytest.raises(BadFile, match="holds float64, and not float32"):
        read_array(tmp_path / "a.npy", dtype="float32")
    with pytest.raises(BadFile, match=r"holds shape \(2, 3\), and not \(3, 2\)"):
        read_array(tmp_path / "a.npy", shape=(3, 2))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "directory.npy").mkdir()
    for name, word in (("pipe", "not a file"), ("directory", "not a file"), ("nothing", "no such file")):
        with pytest.raises(BadFile, match=word):
            read_array(tmp_path / f"{name}.npy")
    with pytest.raises(BadFile, match="can't be read: File name too long"):
        read_array(tmp_path / ("long" * 100 + ".npy"))
    with pytest.raises(BadFile, match="can't be written: File name too long"):
        write_array(tmp_path / ("long" * 100 + ".npy"), np.ones(3))
    with pytest.raises(BadFile, match=r"ends in \.npy or \.bin"):
        read_array(tmp_path / "array.txt")
    with pytest.raises(BadFile, match="it is a directory"):
        write_array(tmp_path / "directory.npy", np.ones(3))
    with pytest.raises(BadFile, match="there is no directory"):
        write_array(tmp_path / "no" / "a.npy", np.ones(3))
    with pytest.raises(BadFile, match=r"ends in \.npy or \.bin"):
        write_array(tmp_path / "array.txt", np.ones(3))
    for strange in (np.array(["text"]), np.array([object()]), np.ones(3, ">f4")):
        with pytest.raises(BadFile, match="is none that a tensor's file may have"):
            write_array(tmp_path / "array.npy", strange)
    assert sorted(os.listdir(tmp_path)) == ["directory.npy", "pipe.npy"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_what_was_there(failure: type[BaseException], tmp_path: Path) -> None:
    write_array(tmp_path / "old.npy", np.arange(3))

    def fail(name: str) -> None:
        with create_array(tmp_path / name, "float32", (4,)) as array:
            array[:2] = 1
            raise failure

    for name in ("old.npy", "new.npy"):
        with pytest.raises(failure):
            fail(name)
    assert os.listdir(tmp_path) == ["old.npy"]
    assert read_array(tmp_path / "old.npy").tolist() == [0, 1, 2]


def test_a_place_that_is_taken_in_the_meantime_is_a_bad_file(tmp_path: Path) -> None:
    def write() -> None:
        with create_array(tmp_path / "a.npy", "float32", (4,)):
            (tmp_path / "a.npy").mkdir()

    with pytest.raises(BadFile, match="can't be written: Is a directory"):
        write()
    assert os.listdir(tmp_path) == ["a.npy"]


def test_a_file_may_be_written_over_while_it_is_read(tmp_path: Path) -> None:
    write_array(tmp_path / "a.npy", np.arange(3))
    old = read_array(tmp_path / "a.npy")
    write_array(tmp_path / "a.npy", old[::-1] * 2)
    assert old.tolist() == [0, 1, 2]
    assert read_array(tmp_path / "a.npy").tolist() == [4, 2, 0]


def test_a_new_file_is_zero_and_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with create_array(path, "bfloat16", (2, 3)) as array:
        assert not path.exists()
        assert array.tolist() == [[0] * 3] * 2
        array[1] = 1.5
    assert read_array(path, dtype="bfloat16", shape=(2, 3)).tolist() == [[0] * 3, [1.5] * 3]


def test_sizes_that_do_not_fit_the_disk_are_refused_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(BadFile, match=r"takes 1\.0 EiB, and the disk has"),
        create_array(tmp_path / "a.npy", "float32", (1 << 58,)),
    ):
        pass
    with (
        pytest.raises(BadFile, match="no array has the shape"),
        create_array(tmp_path / "a.npy", "float16", (1 << 99,)),
    ):
        pass
    # A disk that seemed to have space, and a limit on the size of files in its way.
    monkeypatch.setattr(files, "_look_at_place", lambda path, nbytes: None)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, old[1]))
    try:
        with pytest.raises(BadFile, match="there is no space for it"):
            write_array(tmp_path / "a.npy", np.ones(1 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert os.listdir(tmp_path) == []


def test_a_block_that_can_not_write_is_a_bad_file(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"x\.txt can't be written"), whole_file(tmp_path / "x.txt") as temporary:
        (temporary / "below a file that is not there").write_text("")
    assert list(tmp_path.iterdir()) == []
