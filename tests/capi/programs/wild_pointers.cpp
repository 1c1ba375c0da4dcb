// Pointers of every wrong sort as handles and as device memory: each call is a status, and the program lives.
// One line per call: its name, what it was given, the status, and whether there was a message.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "work.hpp"

namespace {

aclnnStatus given_workspace(void* address) {
  Shape small = {1, 1, 1, 1}, large = {1, 1, 2, 2};
  Tensor<float> gradOutput(small, ACL_FLOAT, ACL_FORMAT_NCHW, {1}), self(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  Tensor<float> gradInput(large, ACL_FLOAT, ACL_FORMAT_NCHW);
  IntArray two({2}), zero({0});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput.handle, self.handle, two.handle, two.handle, zero.handle,
                                               false, true, 0, 0, gradInput.handle, &size, &executor));
  return aclnnAvgPool2dBackward(address, size > 0 ? size : 64, executor, nullptr);
}

}  // namespace

int main() {
  Session session;
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  float on_stack[16] = {0};
  std::vector<float> on_heap(16);
  static float in_data[16];
  int (*function)() = main;
  void* code = nullptr;
  static_assert(sizeof code == sizeof function, "pointers are of one size here");
  std::copy(reinterpret_cast<char*>(&function), reinterpret_cast<char*>(&function) + sizeof code,
            reinterpret_cast<char*>(&code));

  const std::vector<std::pair<std::string, void*>> pointers = {
      {"stack", on_stack},
      {"heap", on_heap.data()},
      {"data", in_data},
      {"code", code},
      {"device", memory},
      {"one", reinterpret_cast<void*>(1)},
      {"page", reinterpret_cast<void*>(4096)},
      {"top", reinterpret_cast<void*>(~0ull)},
      {"hole", reinterpret_cast<void*>(0x00007fffdead0000ull)},
      {"noncanonical", reinterpret_cast<void*>(0xdeadbeefdeadbeefull)},
  };
  const std::vector<std::pair<std::string, std::function<int32_t(void*)>>> calls = {
      {"aclDestroyTensor", [](void* p) { return aclDestroyTensor(static_cast<aclTensor*>(p)); }},
      {"aclDestroyIntArray", [](void* p) { return aclDestroyIntArray(static_cast<aclIntArray*>(p)); }},
      {"aclDestroyAclOpExecutor", [](void* p) { return aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(p)); }},
      {"aclSetAclOpExecutorRepeatable",
       [](void* p) { return aclSetAclOpExecutorRepeatable(static_cast<aclOpExecutor*>(p)); }},
      {"aclSetRawTensorAddr", [](void* p) { return aclSetRawTensorAddr(static_cast<aclTensor*>(p), nullptr); }},
      {"aclGetViewShape",
       [](void* p) {
         int64_t* shape = nullptr;
         uint64_t rank = 0;
         return aclGetViewShape(static_cast<aclTensor*>(p), &shape, &rank);
       }},
      {"aclnnAvgPool2dBackward",
       [](void* p) { return aclnnAvgPool2dBackward(nullptr, 0, static_cast<aclOpExecutor*>(p), nullptr); }},
      {"workspace", given_workspace},
      {"aclrtSynchronizeStream", [](void* p) { return aclrtSynchronizeStream(p); }},
      {"aclrtDestroyStream", [](void* p) { return aclrtDestroyStream(p); }},
      {"aclrtDestroyEvent", [](void* p) { return aclrtDestroyEvent(p); }},
      {"aclrtSynchronizeEvent", [](void* p) { return aclrtSynchronizeEvent(p); }},
      {"aclrtDestroyContext", [](void* p) { return aclrtDestroyContext(p); }},
      {"aclrtSetCurrentContext", [](void* p) { return aclrtSetCurrentContext(p); }},
      {"aclrtFree", [memory](void* p) { return aclrtFree(p == memory ? static_cast<char*>(p) + 8 : p); }},
      {"aclrtFreeHost", [](void* p) { return aclrtFreeHost(p); }},
      {"aclrtMemset", [memory](void* p) { return aclrtMemset(p, p == memory ? 65 : 1, 0, p == memory ? 65 : 1); }},
      {"aclrtMemcpy to device",
       [memory, &on_stack](void* p) {
         return aclrtMemcpy(p, 128, on_stack, p == memory ? 65 : 4, ACL_MEMCPY_HOST_TO_DEVICE);
       }},
      {"aclrtMemcpy from device",
       [memory](void* p) {
         char bytes[128];
         return aclrtMemcpy(bytes, 128, p, p == memory ? 65 : 4, ACL_MEMCPY_DEVICE_TO_HOST);
       }},
  };
  for (const auto& call : calls) {
    for (const auto& pointer : pointers) {
      aclGetRecentErrMsg();
      const int32_t status = call.second(pointer.second);
      std::printf("%s,%s,%d,%d\n", call.first.c_str(), pointer.first.c_str(), status, aclGetRecentErrMsg() != nullptr);
    }
  }
  // Host pointers that lead nowhere, on the host side of a copy.
  for (const auto& pointer : {pointers[5], pointers[6], pointers[7], pointers[8], pointers[9]}) {
    std::printf("from nowhere,%s,%d,1\n", pointer.first.c_str(),
                aclrtMemcpy(memory, 64, pointer.second, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    std::printf("to nowhere,%s,%d,1\n", pointer.first.c_str(),
                aclrtMemcpy(pointer.second, 64, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  }
  CHECK(aclrtFree(memory));

  // A mapped file that has become shorter: behind its end there is nothing, though the mapping is still there.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), whole = 4 << 20;
  CHECK(aclrtMalloc(&memory, whole, ACL_MEM_MALLOC_HUGE_FIRST));
  FILE* file = std::tmpfile();
  if (ftruncate(fileno(file), whole) != 0) return 1;
  char* mapped = static_cast<char*>(mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0));
  if (ftruncate(fileno(file), 100) != 0) return 1;
  const std::pair<char*, size_t> ranges[] = {{mapped + page, 4}, {mapped, page + 1}, {mapped + page - 4, 8}, {mapped, whole}};
  for (const auto& range : ranges) {
    std::printf("from behind a file,%zu,%d,1\n", range.second,
                aclrtMemcpy(memory, whole, range.first, range.second, ACL_MEMCPY_HOST_TO_DEVICE));
    std::printf("to behind a file,%zu,%d,1\n", range.second,
                aclrtMemcpy(range.first, range.second, memory, range.second, ACL_MEMCPY_DEVICE_TO_HOST));
  }
  CHECK(aclrtMemcpy(memory, whole, mapped, page, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(mapped, page, memory, page, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(aclrtFree(memory));
  std::puts("alive");
  return 0;
}
