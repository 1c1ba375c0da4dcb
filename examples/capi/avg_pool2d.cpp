// The gradient of average pooling: windows of 3 x 2 that overlap, padding that is not counted, ceil mode.
//
//     poolgrad capi run avg_pool2d.cpp

#include "device.hpp"

#include "aclnnop/aclnn_avgpool2d_backward.h"

int main() {
  Session session;
  const Shape small = {1, 2, 3, 4}, large = {1, 2, 6, 7};
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCHW, counting(small, 1));
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCHW);  // never read: its shape is what counts
  Tensor<float> gradInput(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray kernelSize({3, 2}), stride({2, 2}), padding({0, 1});
  const bool ceilMode = true, countIncludePad = false;
  const int64_t divisorOverride = 0;  // none
  const int8_t cubeMathType = 0;      // keep the data type

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput.handle, self.handle, kernelSize.handle, stride.handle,
                                               padding.handle, ceilMode, countIncludePad, divisorOverride,
                                               cubeMathType, gradInput.handle, &workspaceSize, &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnAvgPool2dBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(gradInput.download(), large.back());
  return 0;
}
