/* What calls through the C interface take. The first argument says what to measure:
   sample    one small gradient from aclInit to aclFinalize, for the time of a whole process
   calls     seconds for one call, on average over all calls of that sample, and for the simplest call
   objects   seconds by which both phases and the wait take longer if tensors and arrays are made for each call
   memory    seconds for aclrtMalloc and aclrtFree of 4 MB, of 256 MB, and of 256 MB with an aclrtMemset of all of it
   operator  seconds for both phases and the wait, with an output of 64 MB, for each line that is read: the time to spend;
             the next arguments are kernel, stride and padding
*/
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_avgpool2d_backward.h"

#define CHECK(call)                                  \
    do {                                             \
        int status = (call);                         \
        if (status) {                                \
            printf("%s answers %d\n", #call, status); \
            exit(1);                                 \
        }                                            \
        ++calls;                                     \
    } while (0)

static int calls = 0;
static aclrtStream stream;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct {
    aclTensor *grad, *self, *out;
    aclIntArray *kernel, *stride, *padding;
    void *grad_memory, *out_memory;
    size_t grad_bytes, out_bytes;
} Gradient;

static aclTensor* tensor(const int64_t* shape, void* memory) {
    ++calls;
    return aclCreateTensor(shape, 4, ACL_FLOAT, NULL, 0, ACL_FORMAT_NCHW, shape, 4, memory);
}

static aclIntArray* pair(int64_t value) {
    int64_t values[] = {value, value};
    ++calls;
    return aclCreateIntArray(values, 2);
}

static Gradient allocate(const int64_t* small, const int64_t* large) {
    Gradient made;
    made.grad_bytes = (size_t)(small[0] * small[1] * small[2] * small[3]) * sizeof(float);
    made.out_bytes = (size_t)(large[0] * large[1] * large[2] * large[3]) * sizeof(float);
    CHECK(aclrtMalloc(&made.grad_memory, made.grad_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&made.out_memory, made.out_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return made;
}

static void describe(Gradient* made, const int64_t* small, const int64_t* large, const int64_t* window) {
    made->grad = tensor(small, made->grad_memory);
    made->self = tensor(large, NULL);
    made->out = tensor(large, made->out_memory);
    made->kernel = pair(window[0]);
    made->stride = pair(window[1]);
    made->padding = pair(window[2]);
}

static Gradient make(int64_t batch, int64_t channels, int64_t side, int64_t size, int64_t stride, int64_t padding) {
    int64_t windows = (side + 2 * padding - size) / stride + 1, window[] = {size, stride, padding};
    int64_t small[] = {batch, channels, windows, windows}, large[] = {batch, channels, side, side};
    Gradient made = allocate(small, large);
    describe(&made, small, large, window);
    return made;
}

static void run(const Gradient* given) {
    uint64_t size = 0;
    aclOpExecutor* executor = NULL;
    void* workspace = NULL;
    CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(given->grad, given->self, given->kernel, given->stride, given->padding,
                                                 false, true, 0, 0, given->out, &size, &executor));
    if (size) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnAvgPool2dBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    if (size) CHECK(aclrtFree(workspace));
}

static void forget(const Gradient* given) {
    CHECK(aclDestroyTensor(given->grad));
    CHECK(aclDestroyTensor(given->self));
    CHECK(aclDestroyTensor(given->out));
    CHECK(aclDestroyIntArray(given->kernel));
    CHECK(aclDestroyIntArray(given->stride));
    CHECK(aclDestroyIntArray(given->padding));
}

static void destroy(const Gradient* given) {
    forget(given);
    CHECK(aclrtFree(given->grad_memory));
    CHECK(aclrtFree(given->out_memory));
}

/* All that a sample of the documents does between its first and its last line. */
static void sample(void) {
    float grad[16], out[256];
    Gradient small = make(1, 16, 4, 4, 4, 0);
    for (int i = 0; i < 16; ++i) grad[i] = 1;
    CHECK(aclrtMemcpy(small.grad_memory, sizeof(grad), grad, sizeof(grad), ACL_MEMCPY_HOST_TO_DEVICE));
    run(&small);
    CHECK(aclrtMemcpy(out, sizeof(out), small.out_memory, sizeof(out), ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 256; ++i)
        if (out[i] != 0.0625f) exit(1);
    destroy(&small);
}

/* The shortest average over some samples, or over some of the simplest calls. */
static double shortest(int simplest) {
    double best = 1e9;
    for (int lap = 0; lap < 200; ++lap) {
        double start = now();
        int32_t device;
        calls = 0;
        for (int i = 0; i < 10; ++i) {
            if (simplest)
                CHECK(aclrtGetDevice(&device));
            else
                sample();
        }
        double mean = (now() - start) / calls;
        if (mean < best) best = mean;
    }
    return best;
}

/* One small gradient again and again, with the same objects, and with new ones each time. */
static double objects(void) {
    int64_t small[] = {1, 16, 1, 1}, large[] = {1, 16, 4, 4}, window[] = {4, 4, 0};
    Gradient same = allocate(small, large), fresh = same;
    double best[2] = {1e9, 1e9};
    describe(&same, small, large, window);
    for (int lap = 0; lap < 400; ++lap) {
        double start = now();
        for (int i = 0; i < 10; ++i) {
            if (lap % 2) {
                describe(&fresh, small, large, window);
                run(&fresh);
                forget(&fresh);
            } else {
                run(&same);
            }
        }
        double mean = (now() - start) / 10;
        if (mean < best[lap % 2]) best[lap % 2] = mean;
    }
    destroy(&same);
    return best[1] - best[0];
}

/* A block that comes and goes with every step of a program, and is used or not: the mean over some steps. */
static double memory(size_t size, int used) {
    double best = 1e9;
    for (int lap = 0; lap < 3; ++lap) {
        double start = now();
        for (int i = 0; i < 10; ++i) {
            void* block = NULL;
            CHECK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
            if (used) CHECK(aclrtMemset(block, size, 0, size));
            CHECK(aclrtFree(block));
        }
        double mean = (now() - start) / 10;
        if (mean < best) best = mean;
    }
    return best;
}

static void operator_call(char** window) {
    char line[64];
    Gradient large = make(16, 64, 128, atoi(window[0]), atoi(window[1]), atoi(window[2]));
    CHECK(aclrtMemset(large.grad_memory, large.grad_bytes, 0, large.grad_bytes));
    CHECK(aclrtMemset(large.out_memory, large.out_bytes, 0, large.out_bytes));
    run(&large);
    while (fgets(line, sizeof(line), stdin)) {
        double best = 1e9, end = now() + atof(line);
        while (now() < end) {
            double start = now();
            run(&large);
            double taken = now() - start;
            if (taken < best) best = taken;
        }
        printf("%.9f\n", best);
        fflush(stdout);
    }
    destroy(&large);
}

int main(int count, char** arguments) {
    const char* what = count > 1 ? arguments[1] : "sample";
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    sample();
    if (!strcmp(what, "calls")) {
        sample();
        printf("[%.9f, %.9f]\n", shortest(0), shortest(1));
    }
    if (!strcmp(what, "objects")) printf("%.9f\n", objects());
    if (!strcmp(what, "memory"))
        printf("[%.9f, %.9f, %.9f]\n", memory(4 << 20, 0), memory(256 << 20, 0), memory(256 << 20, 1));
    if (!strcmp(what, "operator") && count == 5) operator_call(arguments + 2);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
