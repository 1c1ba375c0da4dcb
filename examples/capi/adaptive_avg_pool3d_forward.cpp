// Adaptive average pooling over depth, height and width: 5 columns in 3 windows overlap.
//
//     poolgrad capi run adaptive_avg_pool3d_forward.cpp

#include "device.hpp"

#include "aclnnop/aclnn_adaptive_avg_pool3d.h"

int main() {
  Session session;
  const Shape large = {2, 1, 4, 3, 5}, small = {2, 1, 2, 2, 3};
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCDHW, counting(large, 1.0f));
  Tensor<float> out(small, ACL_FLOAT, ACL_FORMAT_NCDHW);
  IntArray outputSize({2, 2, 3});

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAdaptiveAvgPool3dGetWorkspaceSize(self.handle, outputSize.handle, out.handle, &workspaceSize, &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnAdaptiveAvgPool3d(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(out.download(), small.back());
  return 0;
}
