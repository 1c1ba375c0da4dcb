"""System parameters: kept and answered as documented. Results are the same at every level of determinism."""

from __future__ import annotations

from ..base import status
from .arguments import INT32, INT64, integer
from .constants import ACL_OPT_DETERMINISTIC, ACL_OPT_ENABLE_DEBUG_KERNEL, ACL_OPT_STRONG_CONSISTENCY
from .messages import refusal, returning_status, returning_value_and_status
from .state import RUNTIME, require_context, require_up

# Each option's largest value; the smallest is 0. The levels of determinism: off, on, strong, batch consistency.
_LARGEST = {ACL_OPT_DETERMINISTIC: 3, ACL_OPT_ENABLE_DEBUG_KERNEL: 1, ACL_OPT_STRONG_CONSISTENCY: 1}


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtCtxSetSysParamOpt(opt: int, value: int) -> None:
    """Set an option of the current context."""
    require_up()
    option, level = _option(opt), _level(opt, value)
    require_context().options[option] = level


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtCtxGetSysParamOpt(opt: int) -> int:
    """An option of the current context, which must have been set."""
    require_up()
    option = _option(opt)
    level = require_context().options.get(option)
    if level is None:
        text = f"option {option} was never set in this context; call aclrtCtxSetSysParamOpt first"
        raise refusal(status.ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, text)
    return level


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSetSysParamOpt(opt: int, value: int) -> None:
    """Set an option of the process."""
    require_up()
    RUNTIME.options[_option(opt)] = _level(opt, value)


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetSysParamOpt(opt: int) -> int:
    """An option of the process, 0 if it was never set."""
    require_up()
    return RUNTIME.options.get(_option(opt), 0)


def _option(value: object) -> int:
    option = integer("opt", value, INT32)
    if option not in _LARGEST:
        raise refusal(status.ACL_ERROR_INVALID_PARAM, f"opt = {option} is no aclSysParamOpt; pass one of ACL_OPT_...")
    return option


def _level(opt: object, value: object) -> int:
    largest = _LARGEST[_option(opt)]
    level = integer("value", value, INT64, status.ACL_ERROR_RT_PARAM_INVALID)
    if not 0 <= level <= largest:
        raise refusal(status.ACL_ERROR_RT_PARAM_INVALID, f"value = {level} is out of range; pass 0 to {largest}")
    return level
