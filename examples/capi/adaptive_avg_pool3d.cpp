// The gradient of adaptive average pooling over depth, height and width: 5 columns in 3 windows overlap.
//
//     poolgrad capi run adaptive_avg_pool3d.cpp

#include "device.hpp"

#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"

int main() {
  Session session;
  const Shape small = {2, 1, 2, 2, 3}, large = {2, 1, 4, 3, 5};
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCDHW, counting(small, 1));
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCDHW);
  Tensor<float> out(large, ACL_FLOAT, ACL_FORMAT_NCDHW);

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.handle, self.handle, out.handle, &workspaceSize,
                                                       &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnAdaptiveAvgPool3dBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(out.download(), large.back());
  return 0;
}
