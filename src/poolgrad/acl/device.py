"""Starting and ending the runtime, its devices and contexts."""

from __future__ import annotations

import json
import os

from ..base import status
from .arguments import INT32, integer, is_null, shown
from .constants import ACL_HOST
from .handles import CONTEXT, HANDLES
from .messages import refusal, returning_status, returning_value, returning_value_and_status
from .state import RUNTIME, Context, Hardware, hardware, make_current, require_context, require_up

ConfigPath = str | bytes | os.PathLike[str] | None

_MOST_DEVICES = 2**31 - 1  # a device id is a 32-bit integer


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclInit(configPath: ConfigPath = None) -> None:
    with RUNTIME.lock:
        if RUNTIME.by_acl:
            text = "the runtime is initialised already; call aclInit once, or aclFinalize before the next"
            raise refusal(status.ACL_ERROR_REPEAT_INITIALIZE, text)
        _check_config(configPath, bad_type=status.ACL_ERROR_INVALID_PARAM, bad_file=status.ACL_ERROR_INVALID_FILE)
        if not RUNTIME.up:
            _read_environment(status.ACL_ERROR_INVALID_PARAM)
        RUNTIME.by_acl = True


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclFinalize() -> None:
    """Finish what was submitted, end all contexts and free all device memory."""
    with RUNTIME.lock:
        if not RUNTIME.up and RUNTIME.was_finalized:
            raise refusal(status.ACL_ERROR_REPEAT_FINALIZE, "the runtime is finalized already; call aclFinalize once")
        if not RUNTIME.up:
            raise refusal(status.ACL_ERROR_UNINITIALIZE, "the runtime was never initialised; call aclInit first")
        RUNTIME.shut_down()


@returning_status(status.ACLNN_ERR_INNER)
def aclnnInit(configPath: ConfigPath = None) -> None:
    """Bring the runtime up too, if aclInit did not."""
    with RUNTIME.lock:
        _check_config(configPath, bad_type=status.ACLNN_ERR_PARAM_INVALID, bad_file=status.ACLNN_ERR_PARAM_INVALID)
        if not RUNTIME.up:
            _read_environment(status.ACLNN_ERR_RUNTIME_ERROR)
        RUNTIME.by_aclnn = True


@returning_status(status.ACLNN_ERR_INNER)
def aclnnFinalize() -> None:
    """Undo what aclnnInit did: a runtime that aclInit brought up stays up."""
    with RUNTIME.lock:
        if not RUNTIME.by_aclnn:
            raise refusal(status.ACLNN_ERR_RUNTIME_ERROR, "there is nothing to finalize; call aclnnInit first")
        if RUNTIME.by_acl:
            RUNTIME.by_aclnn = False
        else:
            RUNTIME.shut_down()


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSetDevice(deviceId: int) -> None:
    """Make the device's own context current in this thread; each call asks for one aclrtResetDevice."""
    with RUNTIME.lock:
        require_up()
        device = _device_id(deviceId)
        if device not in RUNTIME.primaries:
            RUNTIME.primaries[device] = Context(device, primary=True)
            RUNTIME.contexts.add(RUNTIME.primaries[device])
        RUNTIME.primaries[device].times_set += 1
        make_current(RUNTIME.primaries[device])


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtResetDevice(deviceId: int) -> None:
    """Take one aclrtSetDevice back; with the last the device's own context and its streams end."""
    with RUNTIME.lock:
        require_up()
        device = _device_id(deviceId)
        if device not in RUNTIME.primaries:
            text = f"device {device} is not set; call aclrtSetDevice({device}) first, and reset it once per set"
            raise refusal(status.ACL_ERROR_RT_CONTEXT_NULL, text)
        context = RUNTIME.primaries[device]
        context.times_set -= 1
        if context.times_set:
            return
        del RUNTIME.primaries[device]
        RUNTIME.contexts.discard(context)
    # Outside of the lock, since it waits for tasks.
    context.destroy()


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetDevice() -> int:
    return require_context().device


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetDeviceCount() -> int:
    """Also before aclInit: programs ask whether there is a device at all."""
    return RUNTIME.device_count if RUNTIME.up else _devices_of_environment(status.ACL_ERROR_INVALID_PARAM)


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetRunMode() -> int:
    """Also before aclInit."""
    return ACL_HOST


@returning_value(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetSocName() -> str:
    """The SoC of the device; None only if POOLGRAD_PRODUCT names an unknown one."""
    return _hardware(status.ACL_ERROR_INVALID_PARAM).soc


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtCreateContext(deviceId: int) -> int:
    """A new context, which becomes current in this thread."""
    with RUNTIME.lock:
        require_up()
        context = Context(_device_id(deviceId), primary=False)
        RUNTIME.contexts.add(context)
        make_current(context)
    return context.handle


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtDestroyContext(context: int | None) -> None:
    target = _find_context(context)
    if target.primary:
        text = f"the context belongs to device {target.device} itself; end it with aclrtResetDevice({target.device})"
        raise refusal(status.ACL_ERROR_RT_PARAM_INVALID, text)
    with RUNTIME.lock:
        RUNTIME.contexts.discard(target)
    target.destroy()


@returning_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtSetCurrentContext(context: int | None) -> None:
    make_current(_find_context(context))


@returning_value_and_status(status.ACL_ERROR_INTERNAL_ERROR)
def aclrtGetCurrentContext() -> int:
    return require_context().handle


def _device_id(value: object) -> int:
    device = integer("deviceId", value, INT32, status.ACL_ERROR_RT_INVALID_DEVICEID)
    if not 0 <= device < RUNTIME.device_count:
        text = f"there is no device {device}; pass 0 to {RUNTIME.device_count - 1}, or set POOLGRAD_DEVICES for more"
        raise refusal(status.ACL_ERROR_RT_INVALID_DEVICEID, text)
    return device


def _find_context(handle: object) -> Context:
    require_up()
    return HANDLES.find("context", handle, CONTEXT)


def _check_config(path: object, *, bad_type: int, bad_file: int) -> None:
    """The file is only checked: it holds no setting that matters here. An empty path means none, as on the device."""
    if is_null(path):
        return
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise refusal(bad_type, f"configPath must be null or the path of a JSON file, got {shown(path)}")
    try:
        if not os.fspath(path):
            return
        if not os.path.isfile(path):  # also keeps from waiting for a pipe
            raise ValueError("it is no regular file" if os.path.exists(path) else "there is no such file")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.strip() and not isinstance(json.loads(text), dict):
            raise ValueError("it holds no JSON object")
    except (OSError, TypeError, ValueError, RecursionError) as error:
        reason = f"configPath = {shown(path)} cannot be used: {error}"
        raise refusal(bad_file, f"{reason}; pass null or a file that holds a JSON object") from None


def _read_environment(refused: int) -> None:
    chosen = _hardware(refused)
    RUNTIME.device_count = _devices_of_environment(refused)
    RUNTIME.hardware = chosen


def _hardware(refused: int) -> Hardware:
    try:
        return hardware()
    except ValueError as error:
        raise refusal(refused, f"POOLGRAD_PRODUCT is set to an {error}") from None


def _devices_of_environment(refused: int) -> int:
    text = os.environ.get("POOLGRAD_DEVICES") or "1"
    count = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
    if not 1 <= count <= _MOST_DEVICES:
        raise refusal(refused, f"POOLGRAD_DEVICES must be an integer of at least 1, got {shown(text)}")
    return count
