// Work for the device whose result can be told at a glance: 2 x 2 windows, so that every result is its gradient / 4.
#pragma once

#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "device.hpp"

class Work {
 public:
  Work(int64_t planes, int64_t side, float first = 1)
      : small_{1, planes, side, side},
        large_{1, planes, 2 * side, 2 * side},
        side_(side),
        values_(counting(small_, first)),
        gradOutput_(small_, ACL_FLOAT, ACL_FORMAT_NCHW, values_),
        self_(large_, ACL_FLOAT, ACL_FORMAT_NCHW),
        gradInput_(large_, ACL_FLOAT, ACL_FORMAT_NCHW),
        kernelSize_({2}),
        stride_({2, 2}),
        padding_({0}) {
    CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput_.handle, self_.handle, kernelSize_.handle, stride_.handle,
                                                 padding_.handle, false, true, 0, 0, gradInput_.handle, &size_,
                                                 &executor_));
    CHECK(aclSetAclOpExecutorRepeatable(executor_));
    CHECK(aclrtMalloc(&workspace_, size_ > 0 ? size_ : 1, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  ~Work() {
    CHECK(aclDestroyAclOpExecutor(executor_));
    CHECK(aclrtFree(workspace_));
  }

  int32_t submit(aclrtStream stream) { return aclnnAvgPool2dBackward(workspace_, size_, executor_, stream); }

  bool right() const {
    const std::vector<float> result = gradInput_.download();
    const int64_t width = 2 * side_;
    for (int64_t i = 0; i < static_cast<int64_t>(result.size()); i++) {
      const int64_t row = i / width, column = i % width;
      if (result[i] != values_[row / 2 * side_ + column / 2] / 4) return false;
    }
    return true;
  }

 private:
  Shape small_, large_;
  int64_t side_;
  std::vector<float> values_;
  Tensor<float> gradOutput_, self_, gradInput_;
  IntArray kernelSize_, stride_, padding_;
  uint64_t size_ = 0;
  aclOpExecutor* executor_ = nullptr;
  void* workspace_ = nullptr;
};

// One run from beginning to end; says "right" or "wrong".
inline void run_and_tell() {
  Session session;
  Work work(4, 16);
  CHECK(work.submit(session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  std::puts(work.right() ? "right" : "wrong");
  std::fflush(stdout);
}

// Many tasks of some milliseconds each, so that something is in flight whatever happens next.
inline void queue(Work& work, aclrtStream stream) {
  for (int i = 0; i < 200; i++) CHECK(work.submit(stream));
}
