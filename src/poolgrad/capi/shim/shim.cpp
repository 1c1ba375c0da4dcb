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

EXPORT float aclFloat16ToFloat(aclFloat16 value) {
    uint32_t bits = (value & 0x7fffu) << 13;
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    number *= 5.192296858534828e33f;  // 2 to the 112: the exponents' biases differ by 112; exact, also for subnormal numbers
    std::memcpy(&bits, &number, sizeof(bits));
    if (number >= 65536.0f) bits |= 0x7f800000u;  // infinity and NaN
    bits |= (value & 0x8000u) << 16;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
}

EXPORT aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return static_cast<aclFloat16>(sign | 0x7e00u | (bits >> 13 & 0x3ffu));  // NaN
    if (bits >= 0x47800000u) return static_cast<aclFloat16>(sign | 0x7c00u);                         // 65536 and more
    if (bits < 0x38800000u) {  // becomes subnormal: an addition puts the last bit where it must be, and rounds
        float number;
        std::memcpy(&number, &bits, sizeof(number));
        number += 0.5f;
        std::memcpy(&bits, &number, sizeof(bits));
        return static_cast<aclFloat16>(sign | (bits - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1u);  // to nearest, ties to even
    return static_cast<aclFloat16>(sign | ((bits >> 13) - (112u << 10)));
}

#include "functions.inc"
