"""Starting and ending the runtime, devices and contexts, and what a fork leaves behind."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest
from acl_helpers import Gate, assert_prints, background, finish, malloc, new_stream, stream_of

from poolgrad.acl import constants as c
from poolgrad.acl import device, events, memory, messages, objects, state, streams
from poolgrad.acl.handles import CONTEXT, HANDLES
from poolgrad.base.products import A2, A3


def text() -> str:
    return messages.aclGetRecentErrMsg() or ""


# Init and finalize


def test_init_and_finalize_answer_as_documented() -> None:
    assert device.aclFinalize() == 100001
    assert "never" in text()
    assert device.aclInit(None) == 0
    assert device.aclInit(None) == 100002
    assert state.RUNTIME.up
    assert device.aclFinalize() == 0
    assert not state.RUNTIME.up
    assert device.aclFinalize() == 100037
    assert device.aclInit(None) == 0, "init may follow finalize"
    assert device.aclFinalize() == 0


def test_every_call_before_init_and_after_finalize_is_refused() -> None:
    def answers() -> list[object]:
        return [
            device.aclrtSetDevice(0),
            device.aclrtResetDevice(0),
            device.aclrtGetDevice(),
            device.aclrtCreateContext(0),
            device.aclrtDestroyContext(None),
            device.aclrtSetCurrentContext(None),
            device.aclrtGetCurrentContext(),
        ]

    def refused(answer: object) -> bool:
        return answer in (100001, (None, 100001))

    assert all(map(refused, answers()))
    assert "aclInit" in text()
    device.aclInit(None)
    device.aclFinalize()
    assert all(map(refused, answers()))
    assert "finalized" in text()


@pytest.mark.doors("Python", "C")
def test_questions_that_need_no_device_are_answered_at_any_time() -> None:
    """Programs ask how many devices there are before they initialise anything."""

    def answers() -> tuple[object, object]:
        return device.aclrtGetDeviceCount(), device.aclrtGetRunMode()

    assert answers() == ((1, 0), (c.ACL_HOST, 0))
    device.aclInit(None)
    assert answers() == ((1, 0), (c.ACL_HOST, 0))
    device.aclFinalize()
    assert answers() == ((1, 0), (c.ACL_HOST, 0))


def test_the_soc_name_is_always_answered() -> None:
    assert device.aclrtGetSocName() == "Ascend910B1"
    state.set_product("Ascend 950")
    assert device.aclrtGetSocName() == "Ascend950PR_9599"


def test_the_soc_name_is_the_one_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Ascend910_9392")
    assert device.aclInit(None) == 0
    monkeypatch.delenv("POOLGRAD_PRODUCT")
    assert (device.aclrtGetSocName(), state.product()) == ("Ascend910_9392", A3)
    state.set_product("910B3")
    assert (device.aclrtGetSocName(), state.product()) == ("Ascend910B3", A2)


def test_finalize_ends_contexts_streams_events_and_memory(runtime: None) -> None:
    address, stream = malloc(64), new_stream()
    event, _ = events.aclrtCreateEvent()
    context, _ = device.aclrtGetCurrentContext()
    ran: list[int] = []
    stream_of(stream).submit(lambda: ran.append(1))
    worker = stream_of(stream)._worker
    assert device.aclFinalize() == 0
    assert ran == [1], "what was submitted was finished"
    assert worker is not None
    assert not worker.is_alive()
    assert memory.ARENA.used == 0
    device.aclInit(None)
    assert device.aclrtGetDevice() == (None, 107002)
    device.aclrtSetDevice(0)
    assert streams.aclrtSynchronizeStream(stream) == 107017
    assert "a destroyed stream" in text()
    assert events.aclrtDestroyEvent(event) == 107017
    assert device.aclrtSetCurrentContext(context) == 107017
    assert memory.aclrtFree(address) == 107017


def test_finalize_waits_for_running_tasks_and_init_waits_for_finalize(stream: int) -> None:
    """A second session must not lose its memory to the end of the first."""
    gate = Gate()
    stream_of(stream).submit(gate)
    assert gate.reached.wait(30)
    ending = background(device.aclFinalize)
    made: list[int] = []

    def begin() -> None:
        device.aclInit(None)
        made.append(malloc(8))

    while state.RUNTIME.up:
        pass
    beginning = background(begin)
    beginning.join(0.1)  # time in which an init that does not wait would get through
    gate.open()
    finish(ending)
    finish(beginning)
    assert memory.aclrtFree(made[0]) == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ('{"dump": {}}', 0),
        ("", 0),
        (" \n", 0),
        ("[1]", 100003),
        ("{", 100003),
        (b"\xff\xfe", 100003),
        pytest.param("[" * 10**5, 100003, id="deeper than Python goes"),
    ],
)
def test_a_config_file_holds_a_json_object_or_nothing(tmp_path: Path, content: str | bytes, status: int) -> None:
    path = tmp_path / "acl.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert device.aclInit(str(path)) == status
    assert state.RUNTIME.up == (status == 0)
    _again(path, status)
    _again(os.fsencode(path), status)


def _again(path: object, status: int) -> None:
    if state.RUNTIME.up:
        device.aclFinalize()
    assert device.aclInit(path) == status  # type: ignore[arg-type]


@pytest.mark.doors("Python", "C")
@pytest.mark.parametrize("name", ["missing.json", ".", "nul\0byte"])
def test_a_config_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    assert device.aclInit(f"{tmp_path}/{name}") == 100003
    assert "configPath" in text()


@pytest.mark.doors("Python", "C")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_as_config_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert device.aclInit(tmp_path / "pipe") == 100003


@pytest.mark.parametrize("config", [5, 1.5, object(), [], ("a",)])
def test_a_config_of_a_wrong_type(config: object) -> None:
    assert device.aclInit(config) == 100000  # type: ignore[arg-type]
    assert device.aclnnInit(config) == 161002  # type: ignore[arg-type]
    assert not state.RUNTIME.up


def test_null_and_empty_configs_are_none() -> None:
    for config in (None, 0, ""):
        assert device.aclInit(config) == 0  # type: ignore[arg-type]
        device.aclFinalize()


@pytest.mark.doors("Python", "C")
def test_aclnn_init_brings_the_runtime_up_and_down() -> None:
    assert device.aclnnFinalize() == 361001
    assert device.aclnnInit(None) == 0
    assert device.aclnnInit(None) == 0, "idempotent"
    assert device.aclrtSetDevice(0) == 0
    assert device.aclnnFinalize() == 0
    assert device.aclrtSetDevice(0) == 100001
    assert device.aclnnFinalize() == 361001


def test_aclnn_finalize_undoes_only_its_own_init() -> None:
    device.aclInit(None)
    device.aclnnInit(None)
    assert device.aclnnFinalize() == 0
    assert state.RUNTIME.up
    assert device.aclFinalize() == 0


@pytest.mark.doors("Python", "C")
def test_acl_finalize_clears_both() -> None:
    device.aclnnInit(None)
    assert device.aclInit(None) == 0, "aclnnInit is no aclInit"
    assert device.aclFinalize() == 0
    assert device.aclnnFinalize() == 361001
    device.aclnnInit(None)
    assert device.aclFinalize() == 0


# Products and devices from the environment


def test_products() -> None:
    assert state.product() is A2
    state.set_product("Ascend910_93")
    assert state.product() is A3
    with pytest.raises(ValueError, match="Atlas A2"):
        state.set_product("Atlas B9")
    assert state.product() is A3


def test_the_product_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Atlas A3")
    assert state.product() is A3
    state.set_product("Atlas A2")
    assert state.product() is A2, "what was chosen in the program wins"


def test_an_unknown_product_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLGRAD_PRODUCT", "Atlas B9")
    assert device.aclInit(None) == 100000
    assert "'Atlas B9'" in (message := text())
    assert "'Ascend 950'" in message
    assert device.aclnnInit(None) == 361001
    assert device.aclrtGetSocName() is None
    assert not state.RUNTIME.up
    state.set_product("Atlas A2")
    assert device.aclInit(None) == 0, "the variable is not asked when a product was chosen"


def test_the_product_stays_while_the_runtime_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    device.aclInit(None)
    monkeypatch.setenv("POOLGRAD_PRODUCT", "nonsense")
    assert state.product() is A2


def test_environment_of_a_fresh_process() -> None:
    """Read when it is needed, in a process that only has the variable."""
    program = "from poolgrad.acl import device, messages\nprint(device.aclInit(None), device.aclrtGetSocName())"
    assert_prints(program, "0 Ascend310P3", POOLGRAD_PRODUCT="atlas INFERENCE series")
    assert_prints(program, "0 Ascend310P1", POOLGRAD_PRODUCT="Ascend310P1")
    assert_prints(program, "100000 None", POOLGRAD_PRODUCT="garbage")


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "9" * 30, " ", "٣"])
def test_garbage_for_the_number_of_devices(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("POOLGRAD_DEVICES", value)
    assert device.aclInit(None) == 100000
    assert "POOLGRAD_DEVICES" in text()
    assert device.aclrtGetDeviceCount() == (None, 100000)
    assert "POOLGRAD_DEVICES" in text()


def test_the_number_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    device.aclInit(None)
    assert device.aclrtGetDeviceCount() == (1, 0)
    assert device.aclrtSetDevice(1) == 107001
    device.aclFinalize()
    monkeypatch.setenv("POOLGRAD_DEVICES", "3")
    assert device.aclrtGetDeviceCount() == (3, 0)
    device.aclInit(None)
    monkeypatch.setenv("POOLGRAD_DEVICES", "4")
    assert device.aclrtGetDeviceCount() == (3, 0)
    assert device.aclrtSetDevice(2) == 0
    assert device.aclrtGetDevice() == (2, 0)


# Devices and contexts


@pytest.mark.parametrize("bad", [-1, 1, 2**31, 2**64, "0", None, 0.0])
def test_bad_device_ids(runtime: None, bad: object) -> None:
    assert device.aclrtSetDevice(bad) == 107001  # type: ignore[arg-type]
    assert device.aclrtResetDevice(bad) == 107001  # type: ignore[arg-type]
    assert device.aclrtCreateContext(bad) == (None, 107001)  # type: ignore[arg-type]


@pytest.mark.doors("Python", "C")
def test_set_and_reset_are_counted(runtime: None) -> None:
    context, _ = device.aclrtGetCurrentContext()
    stream = new_stream()
    assert device.aclrtSetDevice(0) == 0
    assert device.aclrtGetCurrentContext() == (context, 0), "the same context for every set"
    assert device.aclrtResetDevice(0) == 0
    assert streams.aclrtSynchronizeStream(stream) == 0
    assert device.aclrtResetDevice(0) == 0
    assert device.aclrtGetCurrentContext() == (None, 107002)
    assert streams.aclrtSynchronizeStream(stream) == 107017
    assert device.aclrtResetDevice(0) == 107002
    assert device.aclrtSetDevice(0) == 0
    assert device.aclrtGetCurrentContext()[0] != context


@pytest.mark.doors("Python", "C")
def test_reset_keeps_device_memory(runtime: None) -> None:
    address = malloc(8)
    assert device.aclrtResetDevice(0) == 0
    assert memory.aclrtFree(address) == 0


@pytest.mark.doors("Python", "C")
def test_run_mode_is_host(runtime: None) -> None:
    assert device.aclrtGetRunMode() == (1, 0)


@pytest.mark.doors("Python", "C")
def test_the_current_context_belongs_to_the_thread(runtime: None) -> None:
    mine, _ = device.aclrtGetCurrentContext()
    seen: list[object] = []

    def other() -> None:
        seen.append(device.aclrtGetCurrentContext())
        seen.append(device.aclrtSetCurrentContext(mine))
        seen.append(device.aclrtGetCurrentContext())

    finish(background(other))
    assert seen == [(None, 107002), 0, (mine, 0)]


@pytest.mark.doors("Python", "C")
def test_a_new_context_becomes_current_and_can_be_left(runtime: None) -> None:
    first, _ = device.aclrtGetCurrentContext()
    second, ret = device.aclrtCreateContext(0)
    assert ret == 0
    assert device.aclrtGetCurrentContext() == (second, 0)
    assert device.aclrtSetCurrentContext(first) == 0
    assert device.aclrtDestroyContext(second) == 0
    assert device.aclrtDestroyContext(second) == 107017
    assert "a destroyed context" in text()
    assert device.aclrtGetCurrentContext() == (first, 0)


@pytest.mark.doors("Python", "C")
def test_destroying_the_current_context_leaves_none(runtime: None) -> None:
    context, _ = device.aclrtCreateContext(0)
    assert device.aclrtDestroyContext(context) == 0
    assert device.aclrtGetDevice() == (None, 107002)


def test_wrong_contexts(runtime: None) -> None:
    stream = new_stream()
    primary, _ = device.aclrtGetCurrentContext()
    for call in (device.aclrtSetCurrentContext, device.aclrtDestroyContext):
        assert call(None) == call(0) == 100000
        assert call(stream) == 107017
        assert "a stream, not a context" in text()
        assert call("x") == call(12345) == 107017  # type: ignore[arg-type]
    assert device.aclrtDestroyContext(primary) == 107000
    assert "aclrtResetDevice" in text()


def test_contexts_that_are_gone_leave_nothing_behind(runtime: None) -> None:
    for _ in range(50):
        context, _ = device.aclrtCreateContext(0)
        stream_of(new_stream()).submit(lambda: None)
        stream_of(None).submit(lambda: None)
        device.aclrtDestroyContext(context)
    assert len(state.RUNTIME.contexts) == 1
    assert not [t for t in threading.enumerate() if t.name == "poolgrad stream"]
    gc.collect()
    assert sum(isinstance(HANDLES.get(h, CONTEXT), state.Context) for h in list(HANDLES._objects)) == 1


# Fork

FORK = """
import os, threading
from poolgrad.acl import device, events, memory, messages, objects, state, streams
device.aclInit(None); device.aclrtSetDevice(0)
stream, _ = streams.aclrtCreateStream()
event, _ = events.aclrtCreateEvent()
tensor = objects.aclCreateTensor([2], 0, None, 0, 2, [2], None)
address, _ = memory.aclrtMalloc(64, 0)
host, _ = memory.aclrtMallocHost(64)
reached, opened = threading.Event(), threading.Event()
def hold():
    # The worker stands in the middle of a task with every lock in its hands while the fork happens.
    with state.RUNTIME.lock, memory.ARENA._lock, memory.HOST_ARENA._lock, streams.HANDLES._counting:
        reached.set(); opened.wait()
streams.find_stream(stream).submit(hold)
reached.wait()
pid = os.fork()
if pid == 0:
    answers = [state.RUNTIME.up, device.aclFinalize()]
    answers += [streams.aclrtSynchronizeStream(stream), memory.aclrtFree(address)]
    answers += [memory.ARENA.used, device.aclInit(None), device.aclrtGetDevice(), device.aclrtSetDevice(0)]
    answers += [streams.aclrtSynchronizeStream(stream), events.aclrtDestroyEvent(event), memory.aclrtFree(address)]
    answers += [objects.aclDestroyTensor(tensor), memory.aclrtFreeHost(host)]
    ran = []
    fresh, _ = streams.aclrtCreateStream()
    streams.find_stream(fresh).submit(lambda: ran.append(1))
    answers += [streams.aclrtSynchronizeStream(fresh), ran, device.aclFinalize()]
    print(answers, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), end=' ')
opened.set()
print(streams.aclrtSynchronizeStream(stream), memory.aclrtFree(address), device.aclFinalize())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_child_of_a_fork_starts_anew_and_never_hangs() -> None:
    child = [False, 100001, 100001, 100001, 0, 0, (None, 107002), 0, 107017, 107017, 107017, 0, 0, 0, [1], 0]
    assert_prints(FORK, f"{child}\n0 0 0 0")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_exits_normally_with_work_in_the_parent() -> None:
    assert_prints(
        """
import os, sys, threading
from poolgrad.acl import device, streams
device.aclInit(None); device.aclrtSetDevice(0)
gate = threading.Event()
streams.find_stream(None).submit(gate.wait)
pid = os.fork()
if pid == 0:
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
gate.set()
""",
        "7",
    )


@pytest.mark.doors("Python", "C")
def test_objects_live_outside_of_the_runtime() -> None:
    tensor = objects.aclCreateTensor([2], 0, None, 0, 2, [2], None)
    device.aclInit(None)
    device.aclFinalize()
    assert objects.aclGetViewShape(tensor) == ((2,), 0)
    assert objects.aclDestroyTensor(tensor) == 0
