"""Limits come from the caches that a machine tells of, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from poolgrad.plans.limits import Limits, cache_sizes, machine_limits


def machine(folder: Path, *caches: tuple[str, str, str]) -> Path:
    for i, (level, kind, size) in enumerate(caches):
        entry = folder / f"index{i}"
        entry.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (entry / name).write_text(f"{text}\n")
    return folder


def test_caches_of_data_are_read(tmp_path: Path) -> None:
    caches = (("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2048K"), ("3", "Unified", "96M"))
    assert cache_sizes(machine(tmp_path, *caches)) == {1: 48 << 10, 2: 2 << 20, 3: 96 << 20}


@pytest.mark.parametrize("size", ["0K", "1K", "4096G", "large", ""])
def test_sizes_that_cannot_be_are_not_believed(tmp_path: Path, size: str) -> None:
    assert cache_sizes(machine(tmp_path, ("2", "Unified", size))) == {}


def test_no_caches_are_known_where_nothing_is_told(tmp_path: Path) -> None:
    assert cache_sizes(tmp_path / "absent") == {}
    assert cache_sizes(machine(tmp_path, ("4", "Unified", "1024K"))) == {}


def test_limits_follow_the_caches() -> None:
    limits = Limits(second_cache=1 << 18, last_cache=1 << 22)
    assert (limits.part_budget, limits.stream_from, limits.stream_averages_from) == (1 << 18, 1 << 22, 1 << 22)
    assert limits.budget(1) == 1 << 18
    assert limits.budget(1 << 10) == limits.total_budget >> 10
    assert isinstance(machine_limits(), Limits)


def test_averages_expect_little_of_a_cache_that_is_a_whole_sockets() -> None:
    near, far = Limits(), Limits(last_cache=1 << 28)
    ways = ("stream_averages_from", "stream_planes_from", "stream_rows_from")
    assert {getattr(near, way) for way in ways} == {near.stream_from} == {near.last_cache}
    asked = [getattr(far, way) for way in ways]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1] < far.stream_from == 1 << 28
