// Max pooling over depth, height and width: the largest number of each window, and where in its volume it stands.
//
//     poolgrad capi run max_pool3d_with_argmax.cpp

#include "device.hpp"

#include "aclnnop/aclnn_max_pool3d_with_argmax.h"

int main() {
  Session session;
  const Shape large = {1, 1, 2, 4, 4}, small = {1, 1, 1, 2, 2};
  Tensor<float> self(large, ACL_FLOAT, ACL_FORMAT_ND, {1, 6, 2, 8, 4, 5, 7, 3, 9, 0, 1, 1, 2, 3, 1, 1,
                                                      2, 1, 9, 0, 3, 8, 6, 4, 5, 5, 7, 7, 1, 9, 7, 6});
  Tensor<float> out(small, ACL_FLOAT, ACL_FORMAT_ND);
  Tensor<int32_t> indices(small, ACL_INT32, ACL_FORMAT_ND);
  IntArray kernelSize({2, 2, 2}), stride({2, 2, 2}), padding({0, 0, 0}), dilation({1, 1, 1});
  const bool ceilMode = false;

  uint64_t workspaceSize = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnMaxPool3dWithArgmaxGetWorkspaceSize(self.handle, kernelSize.handle, stride.handle, padding.handle,
                                                 dilation.handle, ceilMode, out.handle, indices.handle,
                                                 &workspaceSize, &executor));
  Memory workspace(workspaceSize);
  CHECK(aclnnMaxPool3dWithArgmax(workspace.address, workspaceSize, executor, session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  print(out.download(), small.back());
  std::vector<float> places;  // of equal numbers the first counts: (d * 4 + h) * 4 + w
  for (int32_t index : indices.download()) places.push_back(static_cast<float>(index));
  print(places, small.back());
  return 0;
}
