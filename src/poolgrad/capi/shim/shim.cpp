// The library behind CANN's headers. There is no Python in it: the first call starts a Python process, the server, which
// answers all calls. The two share the device's memory, mapped at the same address in both; each thread of the program
// has a connection of its own, behind which stands a thread of the server. Functions that ask it are generated.
#include "acl/acl.h"
#include "call.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* aclGetRecentErrMsg(void) {
    Thread* thread = this_thread();
    if (!thread || !*thread->newest) return nullptr;
    std::memcpy(thread->handed_out, thread->newest, sizeof(thread->newest));
    *thread->newest = 0;
    return thread->handed_out;
}

// Numbers are taken apart as integers: the program's floating-point mode must not matter. As in CANN's library the largest
// exponent of a half is one like any other, and what is too large, infinite or no number becomes the largest half.
EXPORT float aclFloat16ToFloat(aclFloat16 value) {
    uint32_t exponent = value >> 10 & 0x1fu, fraction = value & 0x3ffu, bits;
    if (exponent) {
        bits = (exponent + 112u) << 23 | fraction << 13;  // the exponents' biases differ by 112
    } else if (fraction) {  // subnormal: it begins with the first bit that is set
        uint32_t zeros = static_cast<uint32_t>(__builtin_clz(fraction)) - 21u;
        bits = (113u - zeros) << 23 | (fraction << (zeros + 13u) & 0x7fffffu);
    } else {
        bits = 0;
    }
    bits |= (value & 0x8000u) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
}

EXPORT aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits >= 0x477ff000u) return static_cast<aclFloat16>(sign | 0x7bffu);  // 65520 and more, infinity and NaN
    if (bits < 0x33000000u) return static_cast<aclFloat16>(sign);  // below half of the smallest number
    uint32_t kept = bits, lost = 13u, base = 112u << 10;
    if (bits < 0x38800000u) {  // becomes subnormal: more bits are lost, and the first one is no longer implied
        kept = (bits & 0x7fffffu) | 0x800000u;
        lost = 126u - (bits >> 23);
        base = 0;
    }
    kept += (1u << (lost - 1u)) - 1u + (kept >> lost & 1u);  // to nearest, ties to even
    return static_cast<aclFloat16>(sign | ((kept >> lost) - base));
}

#include "functions.inc"
