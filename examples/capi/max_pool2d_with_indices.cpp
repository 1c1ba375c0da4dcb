// The gradient of max pooling: windows of 2 x 2 that overlap, so that one element wins in several of them.
//
//     poolgrad capi run max_pool2d_with_indices.cpp

#include "device.hpp"

#include "aclnnop/aclnn_max_pool2d_with_indices_backward.h"

int main() {
  Session session;
  const Shape small = {1, 1, 3, 4}, large = {1, 1, 4, 5};
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCHW, counting(small, 0.25f));
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  // Where each window has its maximum: row * 5 + column in the plane of 4 x 5.
  Tensor<int32_t> indices(small, ACL_INT32, ACL_FORMAT_NCHW, {6, 6, 3, 3, 6, 6, 12, 9, 16, 12, 12, 19});
  Tensor<float> gradInput(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray kernelSize({2, 2}), stride({1, 1}), padding({0, 0}), dilation({1, 1});
  const bool ceilMode = false;

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(
      gradOutput.handle, self.handle, indices.handle, kernelSize.handle, stride.handle, padding.handle,
      dilation.handle, ceilMode, gradInput.handle, &workspaceSize, &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnMaxPool2dWithIndicesBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(gradInput.download(), large.back());
  return 0;
}
