"""Ctrl-C while workers compare outputs, or take digests of files: they stop in the middle, and leave nothing behind."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.files import LINE_MAX, write

from poolgrad.cases import read_cases, verification, work
from poolgrad.cases.golden import Entry, make_golden
from poolgrad.cases.lines import digest
from poolgrad.cases.naming import directory_name


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]


def large_case(tmp_path: Path, side: int) -> Any:
    sizes = {
        "gradOutput": {"dtype": "float32", "shape": [1, 1, side // 2, side // 2]},
        "self": {"dtype": "float32", "shape": [1, 1, side, side]},
    }
    (case,) = read_cases(write(tmp_path, "cases", (LINE_MAX | sizes,)), seed=0, product=None)
    return case


def test_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = large_case(tmp_path, 8192)
    directory = tmp_path / directory_name(case.name)
    directory.mkdir()
    for name in ("golden", "actual"):  # files with holes
        np.lib.format.open_memmap(directory / f"{name}.npy", "w+", np.float32, case.tensor("gradInput").shape)
    seen, ends = list[int](), list[str]()
    original = verification.judge_tensors

    def watch(*arguments: Any, advance: Any, **options: Any) -> Any:
        def interrupted(elements: int) -> None:
            seen.append(elements)
            if len(seen) == 1:
                interrupt()
            advance(elements)

        try:
            answer = original(*arguments, advance=interrupted, **options)
        except Exception as error:
            ends.append(type(error).__name__)
            raise
        ends.append("finished")
        return answer

    monkeypatch.setattr(verification, "judge_tensors", watch)
    entries = {case.name: Entry(0, digest(case), None)}
    with pytest.raises(KeyboardInterrupt):
        list(verification.verify([case], entries, tmp_path, tmp_path, standard=None, jobs=1))
    assert ends == ["_Stopped"]
    assert sum(seen) < case.tensor("gradInput").count


def test_digests_of_files_that_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, root = large_case(tmp_path, 2048), tmp_path / "golden"
    blocks: list[int] = []
    original = work.hashlib.sha256

    class Watched:
        def __init__(self) -> None:
            self.digest = original()

        def update(self, block: bytes) -> None:
            blocks.append(len(block))
            if len(blocks) == 1:
                interrupt()
            time.sleep(0.001)  # so that not even a hurried worker could take all of them
            self.digest.update(block)

        def hexdigest(self) -> str:
            return self.digest.hexdigest()

    class Hashes:
        def __getattr__(self, name: str) -> Any:
            return Watched if name == "sha256" and threading.current_thread().name.startswith("golden") else original

    monkeypatch.setattr(work, "hashlib", Hashes())
    monkeypatch.setattr(work, "HASHED_AT_ONCE", 256)
    with pytest.raises(KeyboardInterrupt):
        make_golden([case], root, jobs=1, facts={})
    assert sum(blocks) < 4 * 2048 * 2048, "all of it was read first"
    assert not list(root.iterdir())
