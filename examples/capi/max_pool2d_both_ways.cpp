// A step of training: max pooling and its gradient, one behind the other on a stream. Indices stay on the device.
//
//     poolgrad capi run max_pool2d_both_ways.cpp

#include "device.hpp"

#include "aclnnop/aclnn_max_pool2d_with_indices.h"
#include "aclnnop/aclnn_max_pool2d_with_indices_backward.h"

int main() {
  Session session;
  const Shape large = {1, 1, 4, 5}, small = {1, 1, 3, 4};
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_NCHW, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4});
  Tensor<float> out(small, ACL_FLOAT, ACL_FORMAT_NCHW);
  Tensor<int32_t> indices(small, ACL_INT32, ACL_FORMAT_NCHW);
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCHW, counting(small, 0.25f));
  Tensor<float> gradInput(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray kernelSize({2, 2}), stride({1, 1}), padding({0, 0}), dilation({1, 1});
  const bool ceilMode = false;

  uint64_t forwardSize = 0, backwardSize = 0;
  aclOpExecutor *forward = nullptr, *backward = nullptr;
  CHECK(aclnnMaxPool2dWithIndicesGetWorkspaceSize(self.handle, kernelSize.handle, stride.handle, padding.handle,
                                                  dilation.handle, ceilMode, out.handle, indices.handle, &forwardSize,
                                                  &forward));
  CHECK(aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(
      gradOutput.handle, self.handle, indices.handle, kernelSize.handle, stride.handle, padding.handle,
      dilation.handle, ceilMode, gradInput.handle, &backwardSize, &backward));
  Memory workspace(forwardSize > backwardSize ? forwardSize : backwardSize);
  CHECK(aclnnMaxPool2dWithIndices(workspace.address, forwardSize, forward, session.stream));
  CHECK(aclnnMaxPool2dWithIndicesBackward(workspace.address, backwardSize, backward, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(gradInput.download(), large.back());
  return 0;
}
