// The gradient of adaptive max pooling, in half precision and with 64-bit indices.
//
//     poolgrad capi run adaptive_max_pool2d.cpp

#include "device.hpp"

#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"

int main() {
  Session session;
  const Shape small = {2, 2, 2}, large = {2, 3, 3};
  std::vector<aclFloat16> halves;
  for (float value : counting(small, 0.5f)) halves.push_back(aclFloatToFloat16(value));
  Tensor<aclFloat16> gradOutput(small, ACL_FLOAT16, ACL_FORMAT_ND, halves);
  Tensor<aclFloat16> self(large, ACL_FLOAT16, ACL_FORMAT_ND);
  // 3 rows in 2 windows overlap: the middle element, 4, may win in all four windows of a plane.
  Tensor<int64_t> indices(small, ACL_INT64, ACL_FORMAT_ND, {4, 4, 4, 4, 0, 2, 6, 4});
  Tensor<aclFloat16> gradInput(large, ACL_FLOAT16, ACL_FORMAT_ND);

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(gradOutput.handle, self.handle, indices.handle,
                                                       gradInput.handle, &workspaceSize, &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnAdaptiveMaxPool2dBackward(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  std::vector<float> result;
  for (aclFloat16 half : gradInput.download()) result.push_back(aclFloat16ToFloat(half));
  print(result, large.back());
  return 0;
}
