"""The written-out constants agree with the tables that the contract reads."""

from __future__ import annotations

import pytest

from poolgrad.acl import constants
from poolgrad.base.dtypes import DTYPES, FORMATS


def _written(prefix: str) -> dict[str, int]:
    return {name: value for name, value in vars(constants).items() if name.startswith(prefix)}


def test_data_types_are_those_of_the_table() -> None:
    written = vars(constants)
    assert {dtype.acl_name: written[dtype.acl_name] for dtype in DTYPES.values()} == {
        dtype.acl_name: dtype.code for dtype in DTYPES.values()
    }


def test_formats_are_those_of_the_table() -> None:
    names = {"ACL_FORMAT_" + name: code for name, code in FORMATS.items()}
    # The document's own spelling of this one has no FORMAT_.
    names["ACL_FRACTAL_Z_3D"] = names.pop("ACL_FORMAT_FRACTAL_Z_3D")
    assert {**_written("ACL_FORMAT_"), **_written("ACL_FRACTAL_")} == names


def test_no_data_type_is_missing_from_the_table() -> None:
    others = ("ACL_FORMAT", "ACL_FRACTAL", "ACL_MEM", "ACL_OPT", "ACL_EVENT", "ACL_DEVICE", "ACL_HOST")
    types = {name for name in _written("ACL_") if not name.startswith(others)}
    assert types == {dtype.acl_name for dtype in DTYPES.values()}


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("ACL_MEM_MALLOC_", "HUGE_FIRST HUGE_ONLY NORMAL_ONLY HUGE_FIRST_P2P HUGE_ONLY_P2P NORMAL_ONLY_P2P"),
        ("ACL_MEMCPY_", "HOST_TO_HOST HOST_TO_DEVICE DEVICE_TO_HOST DEVICE_TO_DEVICE DEFAULT"),
        ("ACL_OPT_", "DETERMINISTIC ENABLE_DEBUG_KERNEL STRONG_CONSISTENCY"),
        ("ACL_EVENT_RECORDED_STATUS_", "NOT_READY COMPLETE"),
        ("ACL_EVENT_STATUS_", "COMPLETE NOT_READY"),
    ],
)
def test_enums_count_up_in_documented_order(prefix: str, names: str) -> None:
    assert _written(prefix) == {prefix + name: value for value, name in enumerate(names.split())}


def test_run_modes() -> None:
    assert (constants.ACL_DEVICE, constants.ACL_HOST) == (0, 1)
