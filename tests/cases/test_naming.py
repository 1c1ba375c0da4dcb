"""Names of cases become names of directories that stay where they are put."""

from __future__ import annotations

import pytest

from poolgrad.cases import BadCase
from poolgrad.cases.naming import directory_name


@pytest.mark.parametrize("name", ["avg_1", "AvgPool2dBackward-cube-1", "a.b+c=d", "测试"])
def test_plain_names_stay(name: str) -> None:
    assert directory_name(name) == name


@pytest.mark.parametrize(
    "name", ["a b", "a/b", "a:b", "x\ny", "a\0b", ".hidden", ".", "...", "", "x" * 500, "~", "$HOME", "Manifest.json"]
)
def test_others_become_one_plain_component(name: str) -> None:
    safe = directory_name(name)
    assert safe != name
    assert "/" not in safe
    assert safe.isprintable()
    assert not safe.startswith(".")
    assert len(safe.encode()) < 255


def test_names_that_differ_stay_apart() -> None:
    names = ["a b", "a_b", "a:b", "a/b", "x" * 200 + "1", "x" * 200 + "2"]
    assert len({directory_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "..", "..\\a", "C:\\a", "a/.."])
def test_a_path_that_leaves_the_directory_is_refused(name: str) -> None:
    with pytest.raises(BadCase, match="leaves the directory"):
        directory_name(name)
