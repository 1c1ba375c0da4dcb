// A system whose pages have 64 KB, as far as the library can tell: it asks sysconf for their size, and the program has a
// sysconf and a madvise of its own. Advice to addresses between two pages would be refused there.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "device.hpp"

namespace {

const uintptr_t page = 65536;
int advised = 0, between_pages = 0;

}  // namespace

extern "C" {

long sysconf(int name) noexcept { return name == _SC_PAGESIZE ? static_cast<long>(page) : -1; }

int madvise(void* start, size_t size, int advice) noexcept {
  if (advice == 22 || advice == 23) {  // to have pages filled, which asks whether memory is there
    ++advised;
    between_pages += reinterpret_cast<uintptr_t>(start) % page != 0;
  }
  return static_cast<int>(syscall(SYS_madvise, start, size, advice));
}
}

int main() {
  Session session;
  std::vector<char> host(4 * page, 7);
  void* block = nullptr;
  CHECK(aclrtMalloc(&block, page, ACL_MEM_MALLOC_HUGE_FIRST));
  for (size_t start = 0; start < 2 * page; start += 4096 + 8)
    CHECK(aclrtMemcpy(block, page, host.data() + start, 100, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtFree(block));
  std::printf("%s %d\n", advised > 0 ? "asked" : "never asked", between_pages);
}
