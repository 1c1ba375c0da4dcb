"""System parameters: every documented level is kept and answered, everything else refused."""

from __future__ import annotations

import pytest

from poolgrad.acl import constants as c
from poolgrad.acl import device, messages, options

pytestmark = pytest.mark.doors("Python", "C")

LEVELS = [(c.ACL_OPT_DETERMINISTIC, 3), (c.ACL_OPT_ENABLE_DEBUG_KERNEL, 1), (c.ACL_OPT_STRONG_CONSISTENCY, 1)]


@pytest.mark.doors("Python")
@pytest.mark.parametrize(("option", "largest"), LEVELS)
def test_levels_are_kept(runtime: None, option: int, largest: int) -> None:
    assert options.aclrtCtxGetSysParamOpt(option) == (None, 107021), "a context knows nothing before it was set"
    assert options.aclrtGetSysParamOpt(option) == (0, 0), "the process has a default"
    for level in range(largest, -1, -1):
        assert options.aclrtCtxSetSysParamOpt(option, level) == 0
        assert options.aclrtCtxGetSysParamOpt(option) == (level, 0)
        assert options.aclrtSetSysParamOpt(option, level) == 0
        assert options.aclrtGetSysParamOpt(option) == (level, 0)
    for level in (-1, largest + 1, 2**70, "1", None, 1.0):
        assert options.aclrtCtxSetSysParamOpt(option, level) == 107000  # type: ignore[arg-type]
        assert options.aclrtSetSysParamOpt(option, level) == 107000  # type: ignore[arg-type]
        assert messages.aclGetRecentErrMsg()
    assert options.aclrtCtxGetSysParamOpt(option) == (0, 0), "a refused level changes nothing"


@pytest.mark.parametrize("option", [-1, 3, 2**40, "0", None])
def test_unknown_options(runtime: None, option: int) -> None:
    assert options.aclrtCtxSetSysParamOpt(option, 0) == options.aclrtSetSysParamOpt(option, 0) == 100000
    assert options.aclrtCtxGetSysParamOpt(option) == options.aclrtGetSysParamOpt(option) == (None, 100000)


def test_contexts_do_not_share_and_the_process_needs_none(runtime: None) -> None:
    options.aclrtCtxSetSysParamOpt(0, 2)
    device.aclrtCreateContext(0)
    assert options.aclrtCtxGetSysParamOpt(0) == (None, 107021)
    device.aclrtDestroyContext(device.aclrtGetCurrentContext()[0])
    assert options.aclrtCtxGetSysParamOpt(0) == (None, 107002)
    assert options.aclrtCtxSetSysParamOpt(0, 1) == 107002
    assert options.aclrtSetSysParamOpt(0, 1) == 0


def test_finalize_forgets_the_process_options(runtime: None) -> None:
    options.aclrtSetSysParamOpt(0, 1)
    device.aclFinalize()
    assert options.aclrtSetSysParamOpt(0, 1) == 100001
    assert options.aclrtGetSysParamOpt(0) == options.aclrtCtxGetSysParamOpt(0) == (None, 100001)
    device.aclInit(None)
    assert options.aclrtGetSysParamOpt(0) == (0, 0)
