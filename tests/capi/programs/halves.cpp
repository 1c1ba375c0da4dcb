// Conversions of half precision in every floating-point mode: how many differ from those in the usual one.
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "acl/acl.h"

namespace {

std::vector<uint32_t> converted() {
  std::vector<uint32_t> found;
  for (uint32_t half = 0; half < 65536; half++) {
    const float number = aclFloat16ToFloat(static_cast<aclFloat16>(half));
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    found.push_back(bits);
  }
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 9973) {
    const uint32_t low = static_cast<uint32_t>(bits);
    float number;
    std::memcpy(&number, &low, sizeof number);
    found.push_back(aclFloatToFloat16(number));
  }
  return found;
}

void tell(const char* mode, const std::vector<uint32_t>& expected) {
  const std::vector<uint32_t> found = converted();
  int differ = 0;
  for (size_t i = 0; i < found.size(); i++) differ += found[i] != expected[i];
  std::printf("%s %d\n", mode, differ);
}

}  // namespace

int main() {
  const std::vector<uint32_t> expected = converted();
  const struct {
    const char* name;
    int mode;
  } modes[] = {{"up", FE_UPWARD}, {"down", FE_DOWNWARD}, {"to zero", FE_TOWARDZERO}};
  for (const auto& each : modes) {
    std::fesetround(each.mode);
    tell(each.name, expected);
  }
  std::fesetround(FE_TONEAREST);
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // results and operands
#endif
  tell("tiny is zero", expected);
}
