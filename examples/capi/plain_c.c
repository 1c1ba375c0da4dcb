/* Everything in plain C11 and in one file: the gradient of average pooling, with all that has to be made and freed.
 *
 *     poolgrad capi run plain_c.c
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"

enum { PLANES = 2, SMALL = 2, LARGE = 5 };

static void check(int32_t status, const char* call) {
  if (status == ACL_SUCCESS) return;
  const char* reason = aclGetRecentErrMsg();
  fprintf(stderr, "%s answered %d: %s\n", call, status, reason ? reason : "no message");
  exit(1);
}
#define CHECK(call) check(call, #call)

static void* device_memory(size_t size) {
  void* address = NULL;
  CHECK(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return address;
}

static aclTensor* tensor_over(void* address, int64_t height, int64_t width) {
  const int64_t shape[] = {1, PLANES, height, width};
  return aclCreateTensor(shape, 4, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, shape, 4, address);
}

int main(void) {
  float gradient[PLANES * SMALL * SMALL], result[PLANES * LARGE * LARGE];
  for (int i = 0; i < PLANES * SMALL * SMALL; i++) gradient[i] = 9.0f * (float)(i + 1);

  aclrtStream stream = NULL;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));

  void* small = device_memory(sizeof gradient);
  void* large = device_memory(sizeof result);
  CHECK(aclrtMemcpy(small, sizeof gradient, gradient, sizeof gradient, ACL_MEMCPY_HOST_TO_DEVICE));
  aclTensor* gradOutput = tensor_over(small, SMALL, SMALL);
  aclTensor* self = tensor_over(NULL, LARGE, LARGE); /* never read, so it needs no memory */
  aclTensor* gradInput = tensor_over(large, LARGE, LARGE);
  const int64_t three[] = {3}, two[] = {2}, zero[] = {0};
  aclIntArray* kernelSize = aclCreateIntArray(three, 1);
  aclIntArray* stride = aclCreateIntArray(two, 1);
  aclIntArray* padding = aclCreateIntArray(zero, 1);

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = NULL;
  CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput, self, kernelSize, stride, padding, false, true, 0, 0,
                                               gradInput, &workspaceSize, &executor));
  void* workspace = workspaceSize > 0 ? device_memory(workspaceSize) : NULL;
  CHECK(aclnnAvgPool2dBackward(workspace, workspaceSize, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(result, sizeof result, large, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < PLANES * LARGE * LARGE; i++) printf("%.9g%c", result[i], (i + 1) % LARGE == 0 ? '\n' : ' ');

  CHECK(aclDestroyTensor(gradOutput));
  CHECK(aclDestroyTensor(self));
  CHECK(aclDestroyTensor(gradInput));
  CHECK(aclDestroyIntArray(kernelSize));
  CHECK(aclDestroyIntArray(stride));
  CHECK(aclDestroyIntArray(padding));
  CHECK(aclrtFree(small));
  CHECK(aclrtFree(large));
  if (workspace != NULL) CHECK(aclrtFree(workspace));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
