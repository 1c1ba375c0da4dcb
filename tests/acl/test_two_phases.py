"""Phase two: executors, workspaces, addresses, streams, and everything that may be wrong with them."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np
import pytest
from device import describe, device, download, phase_one, tensor_on, upload

import poolgrad
from poolgrad import acl

pytestmark = pytest.mark.doors("Python", "C")

AVG = "aclnnAvgPool2dBackward"


@pytest.fixture
def stream() -> Any:
    with device() as handle:
        yield handle


class AvgCall:
    """2 x 2 windows over planes of 4 x 4, planned, with everything at hand."""

    def __init__(self, grad: np.ndarray[Any, Any] | None = None) -> None:
        self.grad_data = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2) if grad is None else grad
        batch, channels, height, width = self.grad_data.shape
        self.shape = (batch, channels, 2 * height, 2 * width)
        self.grad, self.grad_at = tensor_on(self.grad_data, "NCHW")
        self.self = describe(self.shape, "float32", "NCHW")
        self.out, self.out_at = tensor_on(np.full(self.shape, np.nan, np.float32), "NCHW")
        self.kernel, self.padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
        self.plan()

    def plan(self) -> None:
        size, executor, ret = phase_one(AVG, *self.arguments())
        assert ret == 0, acl.aclGetRecentErrMsg()
        assert size is not None
        self.size, self.executor = size, executor
        self.workspace = acl.aclrtMalloc(size, 0)[0]

    def arguments(self, **changes: Any) -> tuple[Any, ...]:
        values = {"grad": self.grad, "self": self.self, "out": self.out} | changes
        return (values["grad"], values["self"], self.kernel, None, self.padding, False, True, 0, 0, values["out"])

    def run(self, stream: Any, workspace: Any = -1, size: Any = -1) -> int:
        workspace = self.workspace if workspace == -1 else workspace
        return acl.aclnnAvgPool2dBackward(workspace, self.size if size == -1 else size, self.executor, stream)

    @property
    def expected(self) -> np.ndarray[Any, Any]:
        return np.repeat(np.repeat(self.grad_data, 2, 2), 2, 3) / np.float32(4)

    def result(self) -> np.ndarray[Any, Any]:
        return download(self.out_at, self.shape, np.float32)


def message() -> str:
    return acl.aclGetRecentErrMsg() or ""


def test_run_overwrites_all_of_the_output(stream: int) -> None:
    call = AvgCall()
    assert call.run(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert np.array_equal(call.result(), call.expected)


def test_null_stream_is_the_default_stream(stream: int) -> None:
    call = AvgCall()
    assert call.run(None) == 0
    assert acl.aclrtSynchronizeStream(None) == 0
    assert np.array_equal(call.result(), call.expected)


def test_executor_serves_once(stream: int) -> None:
    call = AvgCall()
    assert call.run(stream) == 0
    assert call.run(stream) == 161002
    assert "repeatable" in message()
    assert acl.aclDestroyAclOpExecutor(call.executor) == 161002


def test_only_one_of_many_threads_gets_the_executor(stream: int) -> None:
    call = AvgCall()
    context, _ = acl.aclrtGetCurrentContext()
    gate, answers = threading.Barrier(8), []

    def race() -> None:
        assert acl.aclrtSetCurrentContext(context) == 0
        gate.wait()
        answers.append(call.run(stream))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [0] + [161002] * 7


def test_repeatable_executor_follows_new_addresses(stream: int) -> None:
    call = AvgCall()
    assert acl.aclSetAclOpExecutorRepeatable(call.executor) == 0
    other = call.grad_data + 100
    other_grad, other_out = upload(other), upload(np.zeros(call.shape, np.float32))
    assert call.run(stream) == 0
    assert acl.aclSetTensorAddr(call.executor, 0, call.grad, other_grad) == 0
    assert acl.aclSetOutputTensorAddr(call.executor, 0, call.out, other_out) == 0
    assert call.run(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert np.array_equal(call.result(), call.expected), "the first run had read its addresses when it was called"
    assert np.array_equal(
        download(other_out, call.shape, np.float32), np.repeat(np.repeat(other, 2, 2), 2, 3) / np.float32(4)
    )
    assert acl.aclSetInputTensorAddr(call.executor, 1, call.self, 0) == 0
    assert acl.aclSetTensorAddr(call.executor, 2, call.out, call.out_at) == 0
    assert acl.aclDestroyAclOpExecutor(call.executor) == 0
    assert call.run(stream) == 161002
    assert acl.aclDestroyAclOpExecutor(call.executor) == 161002


@pytest.mark.parametrize(
    ("function", "index", "tensor", "status"),
    [
        ("aclSetTensorAddr", 3, "out", 161002),
        ("aclSetTensorAddr", -1, "out", 161002),
        ("aclSetTensorAddr", "one", "out", 161002),
        ("aclSetTensorAddr", 0, "out", 161002),
        ("aclSetInputTensorAddr", 2, "out", 161002),
        ("aclSetOutputTensorAddr", 1, "out", 161002),
        ("aclSetTensorAddr", 0, None, 161001),
    ],
)
def test_moving_the_wrong_tensor(stream: int, function: str, index: Any, tensor: str | None, status: int) -> None:
    call = AvgCall()
    handle = getattr(call, tensor) if tensor else None
    assert getattr(acl, function)(call.executor, index, handle, call.out_at) == status
    assert message()


def test_null_executors(stream: int) -> None:
    assert acl.aclnnAvgPool2dBackward(None, 0, None, stream) == 161001
    assert acl.aclSetAclOpExecutorRepeatable(None) == 561103
    assert acl.aclSetTensorAddr(None, 0, None, None) == 561103
    assert acl.aclDestroyAclOpExecutor(None) == 0


@pytest.mark.parametrize("executor", [12345, -1, 2**80, "executor", 1.5, object()])
def test_garbage_executors(stream: int, executor: Any) -> None:
    assert acl.aclnnAvgPool2dBackward(None, 0, executor, stream) == 161002
    assert acl.aclSetAclOpExecutorRepeatable(executor) == 161002
    assert acl.aclDestroyAclOpExecutor(executor) == 161002
    assert message()


def test_handle_of_another_kind_is_no_executor(stream: int) -> None:
    call = AvgCall()
    assert acl.aclnnAvgPool2dBackward(None, 0, call.grad, stream) == 161002
    assert "a tensor, not an executor" in message()


def test_executor_of_another_operator(stream: int) -> None:
    call = AvgCall()
    assert acl.aclnnAdaptiveMaxPool2dBackward(call.workspace, call.size, call.executor, stream) == 161002
    assert AVG in message()
    assert call.run(stream) == 161002, "the failure used the executor up"


# Each line: what is wrong, what it does to the call, the status, and the row that must be named.
WRONG_AT_PHASE_TWO: list[tuple[str, Any, int, str]] = [
    ("workspace null", lambda call, stream: call.run(stream, workspace=None), 161001, "workspace-null"),
    ("workspace too small", lambda call, stream: call.run(stream, size=call.size - 1), 161002, "workspace-size"),
    ("workspace of size 0", lambda call, stream: call.run(stream, None, 0), 161002, "workspace-size"),
    ("workspace not live", lambda call, stream: call.run(stream, workspace=4096), 161002, "workspace-live"),
    (
        "workspace at the end of its block",
        lambda call, stream: call.run(stream, workspace=call.workspace + 64),
        161002,
        "workspace-live",
    ),
    (
        "workspace freed",
        lambda call, stream: acl.aclrtFree(call.workspace) or call.run(stream),
        161002,
        "workspace-live",
    ),
    (
        "tensor destroyed",
        lambda call, stream: acl.aclDestroyTensor(call.self) or call.run(stream),
        161002,
        "objects-live",
    ),
    (
        "array destroyed",
        lambda call, stream: acl.aclDestroyIntArray(call.kernel) or call.run(stream),
        161002,
        "objects-live",
    ),
    (
        "tensor described anew",
        lambda call, stream: (
            acl.aclInitTensor(call.out, (1,), acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_ND, (1,), call.out_at)
            or call.run(stream)
        ),
        161002,
        "objects-unchanged",
    ),
    (
        "input without memory",
        lambda call, stream: acl.aclSetRawTensorAddr(call.grad, None) or call.run(stream),
        161002,
        "storage-in-block",
    ),
    (
        "input freed",
        lambda call, stream: acl.aclrtFree(call.grad_at) or call.run(stream),
        161002,
        "storage-in-block",
    ),
    (
        "output on the host",
        lambda call, stream: (
            acl.aclSetRawTensorAddr(call.out, np.zeros(call.shape, np.float32).ctypes.data) or call.run(stream)
        ),
        161002,
        "storage-in-block",
    ),
    (
        "output passes its block",
        lambda call, stream: acl.aclSetRawTensorAddr(call.out, call.out_at + 4) or call.run(stream),
        161002,
        "storage-in-block",
    ),
    (
        "self given, but nowhere",
        lambda call, stream: acl.aclSetRawTensorAddr(call.self, 4096) or call.run(stream),
        161002,
        "storage-in-block",
    ),
    (
        "an address beyond 64 bits",
        lambda call, stream: acl.aclSetRawTensorAddr(call.out, 2**70) or call.run(stream),
        161002,
        "storage-in-block",
    ),
]


@pytest.mark.parametrize("line", WRONG_AT_PHASE_TWO, ids=lambda line: line[0])
def test_phase_two_refuses(stream: int, line: tuple[str, Any, int, str]) -> None:
    _, do, status, row = line
    call = AvgCall()
    untouched = None if row in ("objects-live", "objects-unchanged") else call.result()
    assert do(call, stream) == status
    assert f"; rule {row}:" in message()
    assert call.run(stream) == 161002, "any failure uses the executor up"
    assert acl.aclrtSynchronizeStream(stream) == 0, "nothing ran"
    if untouched is not None:
        assert np.array_equal(call.result(), untouched, equal_nan=True)


HOST = np.zeros(1 << 16, np.uint8)


def freed_block() -> int:
    address, ret = acl.aclrtMalloc(1 << 16, 0)
    assert ret == 0
    assert acl.aclrtFree(address) == 0
    return int(address)


# Each line: what an address is, the address, and what every message about it says.
NO_DEVICE_MEMORY: list[tuple[str, Any, str]] = [
    ("freed", freed_block, "freed by aclrtFree"),
    ("host", lambda: HOST.ctypes.data, "memory of the host"),
    ("host, allocated", lambda: acl.aclrtMallocHost(1 << 16)[0], "memory of the host"),
    ("nothing", lambda: 4096, "no memory"),
    ("beyond the top", lambda: 2**64 - 64, "no memory"),
]


@pytest.mark.parametrize("line", NO_DEVICE_MEMORY, ids=lambda line: line[0])
def test_messages_say_what_is_at_an_address(stream: int, line: tuple[str, Any, str]) -> None:
    _, make, text = line
    calls = {name: AvgCall() for name in ("workspace", "grad", "out", "self")}
    address = make()  # last: a new block might lie where the freed one was
    answers = [
        lambda: acl.aclrtFree(address),
        lambda: acl.aclrtMemcpy(address, 64, HOST, 64, acl.ACL_MEMCPY_HOST_TO_DEVICE),
        lambda: acl.aclrtMemcpy(HOST, 64, address, 64, acl.ACL_MEMCPY_DEVICE_TO_HOST),
        lambda: calls["workspace"].run(stream, workspace=address),
        *(functools.partial(calls[name].run, stream) for name in ("grad", "out", "self")),
    ]
    for name in ("grad", "out", "self"):
        assert acl.aclSetRawTensorAddr(getattr(calls[name], name), address) == 0
    for answer in answers:
        assert answer() in (107000, 107017, 161002)
        told = message()
        assert f"{address:#x}" in told
        assert text in told
        if text == "memory of the host" and "aclrtFree:" not in told:
            assert "opy it with aclrtMemcpy" in told


def test_messages_say_that_an_address_is_null(stream: int) -> None:
    call = AvgCall()
    assert acl.aclSetRawTensorAddr(call.grad, None) == 0
    assert call.run(stream) == 161002
    assert "got null" in message()


def test_a_block_that_was_freed_twice_and_one_of_the_other_kind(stream: int) -> None:
    assert acl.aclrtFree(freed_block()) == 107017
    assert "freed by aclrtFree already" in message()
    pinned, _ = acl.aclrtMallocHost(64)
    assert acl.aclrtFree(pinned) == 107017
    assert "free it with aclrtFreeHost" in message()
    assert acl.aclrtFreeHost(pinned) == 0
    assert acl.aclrtFreeHost(pinned) == 107017
    assert "freed by aclrtFreeHost already" in message()
    device, _ = acl.aclrtMalloc(64, 0)
    assert acl.aclrtFreeHost(device) == 107017
    assert "free it with aclrtFree" in message()


@pytest.mark.parametrize(
    ("place", "maker", "given", "text"),
    [
        (0, "aclCreateTensor", 0x7F0000000000, "0x7f0000000000, not a handle"),
        (0, "aclCreateTensor", np.zeros(4), "a numpy.ndarray, not a handle"),
        (1, "aclCreateTensor", [1, 2], "a list, not a handle"),
        (2, "aclCreateIntArray", [4, 4], "a list, not a handle"),
        (2, "aclCreateIntArray", (4,), "a tuple, not a handle"),
        (2, "aclCreateIntArray", 4, "0x4, not a handle"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_messages_say_what_came_in_the_place_of_a_handle(
    stream: int, place: int, maker: str, given: Any, text: str
) -> None:
    arguments = list(AvgCall().arguments())
    arguments[place] = given
    assert phase_one(AVG, *arguments)[2] == 161002
    told = message()
    assert f"got {text}" in told
    assert f"Pass what {maker} returned" in told


@pytest.mark.parametrize(
    ("workspace", "size"), [("here", 0), (None, "large"), (1.5, 100), (None, -2), (object(), 2**80)]
)
def test_workspace_arguments_of_no_sense(stream: int, workspace: Any, size: Any) -> None:
    assert AvgCall().run(stream, workspace, size) == 161002
    assert message()


@pytest.mark.parametrize("bad_stream", [4096, "stream", -5, 2**70, object()])
def test_garbage_streams(stream: int, bad_stream: Any) -> None:
    call = AvgCall()
    assert call.run(bad_stream) == 107017
    assert call.run(stream) == 161002


def test_destroyed_stream(stream: int) -> None:
    call = AvgCall()
    other, _ = acl.aclrtCreateStream()
    assert acl.aclrtDestroyStream(other) == 0
    assert call.run(other) == 107017


def test_failed_repeatable_executor_is_used_up_but_still_ours_to_destroy(stream: int) -> None:
    call = AvgCall()
    assert acl.aclSetAclOpExecutorRepeatable(call.executor) == 0
    assert call.run(stream, size=0) == 161002
    assert call.run(stream) == 161002
    assert acl.aclDestroyAclOpExecutor(call.executor) == 0


def test_self_needs_no_memory(stream: int) -> None:
    """It is never read; the call above describes it with a null address all along."""
    call = AvgCall()
    assert acl.aclGetRawTensorAddr(call.self) == (0, 0)
    assert call.run(stream) == 0


def view(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, storage: int, address: int) -> int:
    handle = acl.aclCreateTensor(shape, acl.ACL_FLOAT, strides, offset, acl.ACL_FORMAT_NCHW, (storage,), address)
    assert handle is not None
    return handle


# Views of an output of shape (1, 1, 4, 4) over a storage of 64 elements: strides, offset, storage, and the row.
VIEWS: list[tuple[str, tuple[int, ...], int, int, str | None]] = [
    ("contiguous", (16, 16, 4, 1), 0, 64, None),
    ("transposed", (16, 16, 1, 4), 0, 64, None),
    ("flipped", (16, 16, -4, -1), 15, 64, None),
    ("every second element", (1, 1, 16, 2), 1, 64, None),
    ("interleaved without overlap", (64, 64, 2, 9), 0, 64, None),
    ("offset beyond the storage", (16, 16, 4, 1), 49, 64, "view-in-storage"),
    ("negative strides before the storage", (16, 16, -4, -1), 14, 64, "view-in-storage"),
    ("storage too small", (16, 16, 4, 1), 0, 15, "view-in-storage"),
    ("offset beyond all memory", (16, 16, 4, 1), 2**62, 64, "view-in-storage"),
    ("storage beyond all memory", (16, 16, 4, 1), 2**62, 2**62 + 16, "view-in-storage"),
    ("storage shape beyond the block", (16, 16, 4, 1), 0, 65, "storage-in-block"),
    ("broadcast", (0, 0, 4, 0), 0, 64, "output-overlaps-itself"),
    ("overlapping rows", (16, 16, 3, 1), 0, 64, "output-overlaps-itself"),
]


@pytest.mark.parametrize("line", VIEWS, ids=lambda line: line[0])
def test_views_of_the_output(stream: int, line: tuple[str, tuple[int, ...], int, int, str | None]) -> None:
    _, strides, offset, storage, row = line
    call = AvgCall(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    guard = np.full(64, 777, np.float32)
    address = upload(guard)
    out = view((1, 1, 4, 4), strides, offset, storage, address)
    size, executor, ret = phase_one(AVG, *call.arguments(out=out))
    assert ret == 0, message()
    workspace = acl.aclrtMalloc(size, 0)[0]
    ret = acl.aclnnAvgPool2dBackward(workspace, size, executor, stream)
    assert acl.aclrtSynchronizeStream(stream) == 0
    memory = download(address, (64,), np.float32)
    if row is None:
        assert ret == 0, message()
        places = [offset + h * strides[2] + w * strides[3] for h in range(4) for w in range(4)]
        assert np.array_equal(memory[places], call.expected.ravel())
        memory[places] = 777
    else:
        assert ret == 161002
        assert f"; rule {row}:" in message()
    assert np.array_equal(memory, guard), "nothing between or beside the view's elements was touched"


def test_output_over_an_input_is_refused(stream: int) -> None:
    call = AvgCall(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    block = upload(np.arange(32, dtype=np.float32))
    grad = view((1, 1, 2, 2), (4, 4, 2, 1), 15, 32, block)
    for offset, status in ((0, 161002), (16, 161002)):
        out = view((1, 1, 4, 4), (16, 16, 4, 1), offset, 32, block)
        size, executor, ret = phase_one(AVG, *call.arguments(grad=grad, out=out))
        assert ret == 0, message()
        ret = acl.aclnnAvgPool2dBackward(acl.aclrtMalloc(size, 0)[0], size, executor, stream)
        assert (ret, "; rule output-overlaps-input:" in message()) == (status, True)


def test_output_between_the_elements_of_an_input_is_fine(stream: int) -> None:
    call = AvgCall(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    data = np.zeros(32, np.float32)
    data[1:8:2] = call.grad_data.ravel()
    block = upload(data)
    grad, out = view((1, 1, 2, 2), (8, 8, 4, 2), 1, 32, block), view((1, 1, 4, 4), (32, 32, 8, 2), 0, 32, block)
    size, executor, ret = phase_one(AVG, *call.arguments(grad=grad, out=out))
    assert ret == 0, message()
    assert acl.aclnnAvgPool2dBackward(acl.aclrtMalloc(size, 0)[0], size, executor, stream) == 0, message()
    assert acl.aclrtSynchronizeStream(stream) == 0
    memory = download(block, (32,), np.float32)
    assert np.array_equal(memory[::2], call.expected.ravel())
    assert np.array_equal(memory[1::2], data[1::2])


def test_workspace_over_the_output_is_refused(stream: int) -> None:
    call = AvgCall(np.ones((2, 3, 64, 64), np.float32))
    assert call.size < 4 * 2 * 3 * 128 * 128
    assert call.run(stream, workspace=call.out_at) == 161002
    assert "; rule workspace-apart:" in message()


def test_absurd_sizes_are_planned_but_never_run(stream: int) -> None:
    shape = (1, 1, 2**20, 2**20)
    grad, self, out = (describe(s, "float32", "NCHW") for s in ((1, 1, 2**19, 2**19), shape, shape))
    kernel, padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
    size, executor, ret = phase_one(AVG, grad, self, kernel, None, padding, False, True, 0, 0, out)
    assert ret == 0
    assert size is not None
    assert size < 64e6
    assert acl.aclrtMalloc(2**42, 0) == (None, 207001)
    assert acl.aclnnAvgPool2dBackward(acl.aclrtMalloc(size, 0)[0], size, executor, stream) == 161002
    assert "; rule storage-in-block:" in message()


def test_freeing_device_memory_while_work_is_queued(stream: int) -> None:
    """The task holds its blocks: it may lose its result, never its footing."""
    for _ in range(20):
        call = AvgCall(np.ones((4, 4, 64, 64), np.float32))
        assert call.run(stream) == 0
        for address in (call.grad_at, call.out_at, call.workspace):
            assert acl.aclrtFree(address) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0


def test_objects_may_go_once_phase_two_was_called(stream: int) -> None:
    call = AvgCall()
    assert call.run(stream) == 0
    for tensor in (call.grad, call.self, call.out):
        assert acl.aclDestroyTensor(tensor) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert np.array_equal(call.result(), call.expected)


def test_later_tasks_run_after_a_bad_index(stream: int) -> None:
    data = np.ones((1, 1, 1), np.float32)
    out = None
    for index in (9, 0):
        grad, self = tensor_on(data)[0], describe((1, 2, 2), "float32", "ND")
        indices, (out, address) = (
            tensor_on(np.array([[[index]]], np.int64))[0],
            tensor_on(np.zeros((1, 2, 2), np.float32)),
        )
        size, executor, _ = phase_one("aclnnAdaptiveMaxPool2dBackward", grad, self, indices, out)
        workspace = acl.aclrtMalloc(size, 0)[0] if size else None
        assert acl.aclnnAdaptiveMaxPool2dBackward(workspace, size, executor, stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 507015
    assert "indices[0, 0, 0] = 9 is outside its plane of 2x2" in message()
    assert download(address, (4,), np.float32).tolist() == [1, 0, 0, 0]
    assert acl.aclrtSynchronizeStream(stream) == 0


def test_empty_calls_ask_for_no_workspace(stream: int) -> None:
    """The max operators take empty batches; where the output has elements all the same, they become 0."""
    grad, indices = describe((1, 3, 0, 0), "float16", "ND"), describe((1, 3, 0, 0), "int64", "ND")
    out, address = tensor_on(np.full((1, 3, 5, 7), 9, np.float16))
    self = describe((1, 3, 5, 7), "float16", "ND")
    size, executor, ret = phase_one("aclnnAdaptiveMaxPool2dBackward", grad, self, indices, out)
    assert (size, ret) == (0, 0)
    assert acl.aclnnAdaptiveMaxPool2dBackward(None, 0, executor, stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert not download(address, (1, 3, 5, 7), np.float16).any()


def test_phases_before_init_and_after_finalize() -> None:
    with device():
        call = AvgCall()
    for _ in range(2):
        assert phase_one(AVG, *call.arguments())[2] == 361001
        assert "aclInit" in message()
        assert call.run(None) == 361001
    assert acl.aclInit(None) == 0
    assert call.run(None) == 161002, "an executor does not outlive its runtime"
    assert acl.aclFinalize() == 0


def test_phase_two_without_a_device() -> None:
    assert acl.aclInit(None) == 0
    try:
        call = AvgCall()
        assert call.run(None) == 361001
        assert "aclrtSetDevice" in message()
    finally:
        assert acl.aclFinalize() == 0


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_determinism_level_gives_the_same_bits(stream: int, level: int) -> None:
    grad = np.random.default_rng(7).standard_normal((2, 3, 9, 9)).astype(np.float32)
    assert acl.aclrtCtxSetSysParamOpt(acl.ACL_OPT_DETERMINISTIC, level) == 0
    assert acl.aclrtCtxGetSysParamOpt(acl.ACL_OPT_DETERMINISTIC) == (level, 0)
    call = AvgCall(grad)
    assert call.run(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert np.array_equal(call.result(), poolgrad.avg_pool2d_backward(grad, call.shape, 2))


@pytest.mark.parametrize("flag", [True, np.True_, 1, np.int8(1)])
def test_flags_of_every_kind_count(stream: int, flag: Any) -> None:
    """Five columns in windows of two: only ceil mode has three of them."""
    tensors = [describe((1, 1, n, n), "float32", "NCHW") for n in (3, 5, 5)]
    kernel, padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])
    assert phase_one(AVG, tensors[0], tensors[1], kernel, None, padding, flag, True, 0, 0, tensors[2])[2] == 0, (
        message()
    )


@pytest.mark.parametrize("flag", ["yes", 1.0, None, [1]])
def test_what_is_no_flag_is_refused(stream: int, flag: Any) -> None:
    call = AvgCall()
    arguments = list(call.arguments())
    for place in (5, 6):
        wrong = [*arguments[:place], flag, *arguments[place + 1 :]]
        assert phase_one(AVG, *wrong)[2] == 161002
        assert "; rule int64:" in message()


@pytest.mark.doors("Python")
def test_strides_that_no_kernel_could_hold(stream: int) -> None:
    """Along an axis of size 1 a stride means nothing; elsewhere it must lead to a place that can exist."""
    call = AvgCall(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    block = upload(np.zeros(16, np.float32))
    out = view((1, 1, 4, 4), (2**62, -(2**70), 4, 1), 0, 16, block)
    size, executor, ret = phase_one(AVG, *call.arguments(out=out))
    assert ret == 0, message()
    assert acl.aclnnAvgPool2dBackward(acl.aclrtMalloc(size, 0)[0], size, executor, stream) == 0, message()
    assert acl.aclrtSynchronizeStream(stream) == 0
    assert np.array_equal(download(block, call.shape, np.float32), call.expected)
    for strides in ((16, 16, 2**61, 1), (16, 16, 4, -(2**63))):
        far = view((1, 1, 4, 4), strides, 0, 16, block)
        assert phase_one(AVG, *call.arguments(out=far))[2] == 161002
        assert "; rule sizes:" in message()


def test_negative_storage_holds_nothing(stream: int) -> None:
    call = AvgCall(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 2, 2))
    out = acl.aclCreateTensor(call.shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, (-4, -4), call.out_at)
    size, executor, ret = phase_one(AVG, *call.arguments(out=out))
    assert ret == 0, message()
    assert acl.aclnnAvgPool2dBackward(acl.aclrtMalloc(size, 0)[0], size, executor, stream) == 161002
    assert "; rule view-in-storage:" in message()


@pytest.mark.doors("Python")
def test_endless_sequences_end() -> None:
    class Endless:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> int:
            return 2

    array = acl.aclCreateIntArray(Endless())  # type: ignore[arg-type]
    assert acl.aclGetIntArraySize(array) == (2, 0)
    assert acl.aclDestroyIntArray(array) == 0
