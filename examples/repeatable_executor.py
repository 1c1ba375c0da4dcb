"""Plan once, run many times: a repeatable executor whose tensors move between two runs."""

import numpy as np

from poolgrad import acl


def check(ret: int) -> None:
    if ret:
        raise SystemExit(f"status {ret}: {acl.aclGetRecentErrMsg()}")


def memory(array: np.ndarray) -> int:
    address, ret = acl.aclrtMalloc(array.nbytes, acl.ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret)
    check(acl.aclrtMemcpy(address, array.nbytes, array, array.nbytes, acl.ACL_MEMCPY_HOST_TO_DEVICE))
    return address


def tensor(shape: tuple[int, ...], address: int | None) -> int:
    return acl.aclCreateTensor(shape, acl.ACL_FLOAT, None, 0, acl.ACL_FORMAT_NCHW, shape, address)


check(acl.aclInit(None))
check(acl.aclrtSetDevice(0))
stream, ret = acl.aclrtCreateStream()
check(ret)

small, large = (1, 4, 8, 8), (1, 4, 16, 16)
grads = [memory(np.full(small, step, np.float32)) for step in (4, 8, 12)]
result = memory(np.zeros(large, np.float32))
grad, x, out = tensor(small, grads[0]), tensor(large, None), tensor(large, result)
kernel, padding = acl.aclCreateIntArray([2]), acl.aclCreateIntArray([0])

size, executor, ret = acl.aclnnAvgPool2dBackwardGetWorkspaceSize(grad, x, kernel, None, padding, False, True, 0, 0, out)
check(ret)
check(acl.aclSetAclOpExecutorRepeatable(executor))
workspace, ret = acl.aclrtMalloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)
check(ret)

for address in grads:
    check(acl.aclSetInputTensorAddr(executor, 0, grad, address))
    check(acl.aclnnAvgPool2dBackward(workspace, size, executor, stream))
    check(acl.aclrtSynchronizeStream(stream))
    host = np.empty(large, np.float32)
    check(acl.aclrtMemcpy(host, host.nbytes, result, host.nbytes, acl.ACL_MEMCPY_DEVICE_TO_HOST))
    print(f"gradient {host[0, 0, 0, 0]:g} everywhere: {bool((host == host[0, 0, 0, 0]).all())}")

check(acl.aclDestroyAclOpExecutor(executor))
check(acl.aclFinalize())
