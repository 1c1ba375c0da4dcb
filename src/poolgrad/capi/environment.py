"""The variables by which compilers, CMake files and loaders find CANN, and a program that tries the library."""

from __future__ import annotations

from pathlib import Path

from .build import LIBRARY, MARK


def single_paths(prefix: Path) -> dict[str, str]:
    """Variables that name the installation."""
    names = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_CUSTOM_PATH", "DDK_PATH")
    return dict.fromkeys(names, str(prefix)) | {"NPU_HOST_LIB": str(prefix / "lib64")}


def search_paths(prefix: Path) -> dict[str, str]:
    """Lists of directories to put ours in front of."""
    include, library = prefix / "include", str(prefix / "lib64")
    libraries = dict.fromkeys(("LIBRARY_PATH", "LD_RUN_PATH", "LD_LIBRARY_PATH"), library)
    return {"CPATH": f"{include}:{include / 'aclnn'}"} | libraries


def true_cann(home: str) -> Path | None:
    """The directory if it holds a CANN that is not ours."""
    if not home:
        return None
    path = Path(home)
    ours = (path / MARK).exists()
    known = (f"lib64/{LIBRARY}", "include/acl/acl.h", "version.cfg", "compiler/version.info")
    return path if not ours and any((path / name).exists() for name in known) else None


# The gradient of one window of 4 by 4 ones: every element gets a sixteenth.
SELF_TEST = """
#include "acl/acl.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"

#define CHECK(call) do { int status = (call); if (status) { printf("%s: %d\\n", #call, status); return 1; } } while (0)

int main(void) {
    int64_t one[] = {1, 1, 1, 1}, shape[] = {1, 1, 4, 4}, four[] = {4, 4}, zero[] = {0, 0};
    float ones[1] = {1}, result[16] = {0};
    void *from = NULL, *to = NULL, *workspace = NULL;
    aclrtStream stream = NULL;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&from, sizeof(ones), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&to, sizeof(result), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(from, sizeof(ones), ones, sizeof(ones), ACL_MEMCPY_HOST_TO_DEVICE));
    aclTensor* grad = aclCreateTensor(one, 4, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, one, 4, from);
    aclTensor* self = aclCreateTensor(shape, 4, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, shape, 4, NULL);
    aclTensor* out = aclCreateTensor(shape, 4, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, shape, 4, to);
    aclIntArray *kernel = aclCreateIntArray(four, 2), *padding = aclCreateIntArray(zero, 2);
    uint64_t size = 0;
    aclOpExecutor* executor = NULL;
    CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(
        grad, self, kernel, NULL, padding, false, true, 0, 0, out, &size, &executor));
    if (size) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnAvgPool2dBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(result, sizeof(result), to, sizeof(result), ACL_MEMCPY_DEVICE_TO_HOST));
    float sum = 0;
    for (int i = 0; i < 16; ++i) sum += result[i];
    printf("%g %g\\n", result[5], sum);
    return aclFinalize();
}
"""
SELF_TEST_ANSWER = "0.0625 1\n"
