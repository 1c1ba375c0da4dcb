// What the C++ examples share: a check around every call, a session with the device, and tensors that clean up.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

typedef std::vector<int64_t> Shape;

// Ends the program unless the call went well; the library's own words say what was wrong.
inline void check(int32_t status, const char* call) {
  if (status == ACL_SUCCESS) return;
  const char* reason = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s answered %d: %s\n", call, status, reason ? reason : "no message");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

inline int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

// The runtime, device 0 and a stream, from the first line of main to its last.
class Session {
 public:
  Session() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
  }
  ~Session() {
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  aclrtStream stream;
};

// Device memory.
class Memory {
 public:
  explicit Memory(uint64_t size) : address(nullptr) {
    if (size > 0) CHECK(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  ~Memory() {
    if (address != nullptr) CHECK(aclrtFree(address));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* address;
};

// A contiguous tensor over device memory of its own.
template <typename Number>
class Tensor {
 public:
  Tensor(const Shape& shape, aclDataType type, aclFormat format)
      : memory_(elements(shape) * sizeof(Number)), count_(elements(shape)) {
    handle = aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, format, shape.data(), shape.size(),
                             memory_.address);
    if (handle == nullptr) check(1, "aclCreateTensor");
  }
  Tensor(const Shape& shape, aclDataType type, aclFormat format, const std::vector<Number>& values)
      : Tensor(shape, type, format) {
    upload(values);
  }
  ~Tensor() { CHECK(aclDestroyTensor(handle)); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  void upload(const std::vector<Number>& values) {
    const size_t size = values.size() * sizeof(Number);
    CHECK(aclrtMemcpy(memory_.address, count_ * sizeof(Number), values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  std::vector<Number> download() const {
    std::vector<Number> values(count_);
    const size_t size = count_ * sizeof(Number);
    CHECK(aclrtMemcpy(values.data(), size, memory_.address, size, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }

  aclTensor* handle;

 private:
  Memory memory_;
  size_t count_;
};

// Numbers for a parameter such as the kernel size.
class IntArray {
 public:
  explicit IntArray(const Shape& values) : handle(aclCreateIntArray(values.data(), values.size())) {}
  ~IntArray() { CHECK(aclDestroyIntArray(handle)); }
  IntArray(const IntArray&) = delete;
  IntArray& operator=(const IntArray&) = delete;

  aclIntArray* handle;
};

// first, first + 1, first + 2, ...
inline std::vector<float> counting(const Shape& shape, float first) {
  std::vector<float> values(elements(shape));
  for (size_t i = 0; i < values.size(); i++) values[i] = first + static_cast<float>(i);
  return values;
}

// One line per row of the last axis, with digits enough to read the very same float back.
inline void print(const std::vector<float>& values, int64_t width) {
  for (size_t i = 0; i < values.size(); i++) {
    std::printf("%.9g%c", values[i], (i + 1) % width == 0 ? '\n' : ' ');
  }
}
