// Average pooling itself: windows of 3 x 2 that overlap, padding that is not counted, ceil mode.
//
//     poolgrad capi run avg_pool2d_forward.cpp

#include "device.hpp"

#include "aclnnop/aclnn_avgpool2d.h"

int main() {
  Session session;
  const Shape large = {1, 2, 6, 7}, small = {1, 2, 3, 4};
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCHW, counting(large, 1.0f));
  Tensor<float> out(small, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray kernelSize({3, 2}), strides({2, 2}), paddings({0, 1});
  const bool ceilMode = true, countIncludePad = false;
  const int64_t divisorOverride = 0;  // none
  const int8_t cubeMathType = 0;      // KEEP_DTYPE

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAvgPool2dGetWorkspaceSize(self.handle, kernelSize.handle, strides.handle, paddings.handle, ceilMode,
                                       countIncludePad, divisorOverride, cubeMathType, out.handle, &workspaceSize,
                                       &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnAvgPool2d(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(out.download(), small.back());
  return 0;
}
