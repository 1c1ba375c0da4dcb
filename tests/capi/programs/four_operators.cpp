// All four operators as the documents' programs call them: vectors on the host, a tensor maker, enums with their names
// in front, no <cstdio> of its own. The numbers that each prints are checked by the test.
#include <iostream>
#include <vector>
#include "acl/acl.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "aclnnop/aclnn_adaptive_max_pool2d_backward.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "aclnnop/aclnn_max_pool2d_with_indices_backward.h"

#define ENSURE(condition, what)                                \
  do {                                                         \
    if (!(condition)) {                                        \
      printf("%s failed: %s\n", what, aclGetRecentErrMsg());   \
      return 1;                                                \
    }                                                          \
  } while (0)

struct Held {
  void* memory = nullptr;
  aclTensor* tensor = nullptr;
};

template <typename T>
int Make(const std::vector<T>& values, const std::vector<int64_t>& shape, aclDataType type, aclFormat format,
         Held* held) {
  auto size = values.size() * sizeof(T);
  auto ret = aclrtMalloc(&held->memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
  ENSURE(ret == ACL_SUCCESS, "aclrtMalloc");
  ret = aclrtMemcpy(held->memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
  ENSURE(ret == ACL_SUCCESS, "aclrtMemcpy");
  std::vector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; i--) strides[i] = shape[i + 1] * strides[i + 1];
  held->tensor = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, format, shape.data(),
                                 shape.size(), held->memory);
  ENSURE(held->tensor != nullptr, "aclCreateTensor");
  return 0;
}

void Drop(const Held& held) {
  aclDestroyTensor(held.tensor);
  aclrtFree(held.memory);
}

typedef aclnnStatus (*PhaseTwo)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// Phase two, the wait, and the numbers on one line.
int Finish(PhaseTwo run, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream, const Held& out,
           size_t count) {
  void* workspace = nullptr;
  if (workspaceSize > 0) {
    auto ret = aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST);
    ENSURE(ret == ACL_SUCCESS, "aclrtMalloc");
  }
  auto ret = run(workspace, workspaceSize, executor, stream);
  ENSURE(ret == ACL_SUCCESS, "phase two");
  ret = aclrtSynchronizeStream(stream);
  ENSURE(ret == ACL_SUCCESS, "aclrtSynchronizeStream");
  std::vector<float> result(count, 0);
  ret = aclrtMemcpy(result.data(), result.size() * sizeof(result[0]), out.memory, count * sizeof(float),
                    ACL_MEMCPY_DEVICE_TO_HOST);
  ENSURE(ret == ACL_SUCCESS, "aclrtMemcpy");
  for (size_t i = 0; i < count; i++) printf("%.9g%c", result[i], i + 1 == count ? '\n' : ' ');
  if (workspaceSize > 0) aclrtFree(workspace);
  return 0;
}

int Averages(aclrtStream stream) {
  int ret = 0;
  Held gradOutput, self, gradInput;
  std::vector<int64_t> small = {1, 1, 2, 2}, large = {1, 1, 3, 3};
  ret = Make<float>({1, 2, 3, 4}, small, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &gradOutput);
  ENSURE(ret == 0, "gradOutput");
  ret = Make<float>(std::vector<float>(9, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &self);
  ENSURE(ret == 0, "self");
  ret = Make<float>(std::vector<float>(9, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &gradInput);
  ENSURE(ret == 0, "gradInput");
  std::vector<int64_t> kernelData = {2, 2}, strideData = {1, 1}, paddingData = {0, 0};
  aclIntArray* kernelSize = aclCreateIntArray(kernelData.data(), 2);
  aclIntArray* strides = aclCreateIntArray(strideData.data(), 2);
  aclIntArray* paddings = aclCreateIntArray(paddingData.data(), 2);
  const bool ceilMode = false, countIncludePad = true;
  const int64_t divisorOverride = 0;
  const int8_t cubeMathType = 1;
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor;
  ret = aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, kernelSize, strides, paddings,
                                               ceilMode, countIncludePad, divisorOverride, cubeMathType,
                                               gradInput.tensor, &workspaceSize, &executor);
  ENSURE(ret == ACL_SUCCESS, "aclnnAvgPool2dBackwardGetWorkspaceSize");
  ENSURE(Finish(aclnnAvgPool2dBackward, workspaceSize, executor, stream, gradInput, 9) == 0, "average");
  for (auto array : {kernelSize, strides, paddings}) aclDestroyIntArray(array);
  for (auto held : {gradOutput, self, gradInput}) Drop(held);
  return 0;
}

int AdaptiveAverages(aclrtStream stream) {
  int ret = 0;
  Held gradOutput, self, out;
  std::vector<int64_t> small = {1, 1, 1, 1, 2}, large = {1, 1, 2, 1, 3};
  ret = Make<float>({4, 8}, small, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCDHW, &gradOutput);
  ENSURE(ret == 0, "gradOutput");
  ret = Make<float>(std::vector<float>(6, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCDHW, &self);
  ENSURE(ret == 0, "self");
  ret = Make<float>(std::vector<float>(6, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCDHW, &out);
  ENSURE(ret == 0, "out");
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor;
  ret = aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, out.tensor, &workspaceSize,
                                                       &executor);
  ENSURE(ret == ACL_SUCCESS, "aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize");
  ENSURE(Finish(aclnnAdaptiveAvgPool3dBackward, workspaceSize, executor, stream, out, 6) == 0, "adaptive average");
  for (auto held : {gradOutput, self, out}) Drop(held);
  return 0;
}

int Maxima(aclrtStream stream) {
  int ret = 0;
  Held gradOutput, self, indices, gradInput;
  std::vector<int64_t> small = {1, 1, 1, 2}, large = {1, 1, 2, 3};
  ret = Make<float>({0.5f, 0.125f}, small, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &gradOutput);
  ENSURE(ret == 0, "gradOutput");
  ret = Make<float>(std::vector<float>(6, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &self);
  ENSURE(ret == 0, "self");
  ret = Make<int32_t>({4, 4}, small, aclDataType::ACL_INT32, aclFormat::ACL_FORMAT_NCHW, &indices);
  ENSURE(ret == 0, "indices");
  ret = Make<float>(std::vector<float>(6, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_NCHW, &gradInput);
  ENSURE(ret == 0, "gradInput");
  std::vector<int64_t> kernelData = {2, 2}, strideData = {1, 1}, paddingData = {0, 0}, dilationData = {1, 1};
  aclIntArray* kernelSize = aclCreateIntArray(kernelData.data(), 2);
  aclIntArray* stride = aclCreateIntArray(strideData.data(), 2);
  aclIntArray* padding = aclCreateIntArray(paddingData.data(), 2);
  aclIntArray* dilation = aclCreateIntArray(dilationData.data(), 2);
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor;
  ret = aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor, kernelSize,
                                                          stride, padding, dilation, false, gradInput.tensor,
                                                          &workspaceSize, &executor);
  ENSURE(ret == ACL_SUCCESS, "aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize");
  ENSURE(Finish(aclnnMaxPool2dWithIndicesBackward, workspaceSize, executor, stream, gradInput, 6) == 0, "max");
  for (auto array : {kernelSize, stride, padding, dilation}) aclDestroyIntArray(array);
  for (auto held : {gradOutput, self, indices, gradInput}) Drop(held);
  return 0;
}

int AdaptiveMaxima(aclrtStream stream) {
  int ret = 0;
  Held gradOutput, self, indices, gradInput;
  std::vector<int64_t> small = {1, 1, 1, 1}, large = {1, 1, 2, 2};
  ret = Make<float>({0.75f}, small, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_ND, &gradOutput);
  ENSURE(ret == 0, "gradOutput");
  ret = Make<float>(std::vector<float>(4, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_ND, &self);
  ENSURE(ret == 0, "self");
  ret = Make<int64_t>({2}, small, aclDataType::ACL_INT64, aclFormat::ACL_FORMAT_ND, &indices);
  ENSURE(ret == 0, "indices");
  ret = Make<float>(std::vector<float>(4, 7), large, aclDataType::ACL_FLOAT, aclFormat::ACL_FORMAT_ND, &gradInput);
  ENSURE(ret == 0, "gradInput");
  uint64_t workspaceSize = 0;
  aclOpExecutor* executor;
  ret = aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize(gradOutput.tensor, self.tensor, indices.tensor,
                                                       gradInput.tensor, &workspaceSize, &executor);
  ENSURE(ret == ACL_SUCCESS, "aclnnAdaptiveMaxPool2dBackwardGetWorkspaceSize");
  ENSURE(Finish(aclnnAdaptiveMaxPool2dBackward, workspaceSize, executor, stream, gradInput, 4) == 0, "adaptive max");
  for (auto held : {gradOutput, self, indices, gradInput}) Drop(held);
  return 0;
}

int main() {
  int32_t deviceId = 0;
  aclrtStream stream;
  auto ret = aclInit(nullptr);
  ENSURE(ret == ACL_SUCCESS, "aclInit");
  ret = aclrtSetDevice(deviceId);
  ENSURE(ret == ACL_SUCCESS, "aclrtSetDevice");
  ret = aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1);
  ENSURE(ret == ACL_SUCCESS, "aclrtCtxSetSysParamOpt");
  ret = aclrtCreateStream(&stream);
  ENSURE(ret == ACL_SUCCESS, "aclrtCreateStream");
  for (auto operation : {Averages, AdaptiveAverages, Maxima, AdaptiveMaxima}) {
    if (operation(stream) != 0) return 1;
  }
  aclrtDestroyStream(stream);
  aclrtResetDevice(deviceId);
  aclFinalize();
  return 0;
}
