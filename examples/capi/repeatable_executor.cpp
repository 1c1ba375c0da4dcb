// Plan once, run many times: between two runs the gradient moves to other memory. Events tell how long it took.
//
//     poolgrad capi run repeatable_executor.cpp

#include "device.hpp"

#include "aclnnop/aclnn_avgpool2d_backward.h"

int main() {
  Session session;
  const Shape small = {1, 1, 2, 2}, large = {1, 1, 4, 4};
  std::vector<float> values = counting(small, 4);
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCHW, values);
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  Tensor<float> gradInput(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray kernelSize({2}), stride({}), padding({0});  // one number for both axes; no stride: the kernel's

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput.handle, self.handle, kernelSize.handle, stride.handle,
                                               padding.handle, false, true, 0, 0, gradInput.handle, &workspaceSize,
                                               &executor));
  CHECK(aclSetAclOpExecutorRepeatable(executor));
  Memory workspace(workspaceSize), elsewhere(values.size() * sizeof(float));
  aclrtEvent start, end;
  CHECK(aclrtCreateEvent(&start));
  CHECK(aclrtCreateEvent(&end));
  CHECK(aclrtRecordEvent(start, session.stream));

  CHECK(aclnnAvgPool2dBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(gradInput.download(), large.back());

  for (float& value : values) value *= 10;
  const size_t size = values.size() * sizeof(float);
  CHECK(aclrtMemcpy(elsewhere.address, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclSetInputTensorAddr(executor, 0, gradOutput.handle, elsewhere.address));
  CHECK(aclnnAvgPool2dBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtRecordEvent(end, session.stream));
  CHECK(aclrtSynchronizeEvent(end));
  print(gradInput.download(), large.back());

  float milliseconds = 0;
  CHECK(aclrtEventElapsedTime(&milliseconds, start, end));
  std::fprintf(stderr, "both runs within %.3f ms\n", milliseconds);
  CHECK(aclrtDestroyEvent(start));
  CHECK(aclrtDestroyEvent(end));
  CHECK(aclDestroyAclOpExecutor(executor));
  return 0;
}
