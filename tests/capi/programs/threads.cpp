// Eight threads that race for the first call of the process; then each works with a context of its own.

#include <pthread.h>
#include <string.h>

#include <atomic>
#include <thread>

#include "work.hpp"

namespace {

pthread_barrier_t barrier;
std::atomic<int> initialised(0), refused(0), wrong(0);

void expect(bool holds, const char* what) {
  if (holds) return;
  wrong++;
  std::fprintf(stderr, "wrong: %s\n", what);
}

void in_thread(int number) {
  pthread_barrier_wait(&barrier);
  const aclError first = aclInit(nullptr);
  (first == ACL_SUCCESS ? initialised : refused)++;
  expect(first == ACL_SUCCESS || first == ACL_ERROR_REPEAT_INITIALIZE, "one thread initialises, the others are told");
  pthread_barrier_wait(&barrier);
  if (first != ACL_SUCCESS) expect(aclGetRecentErrMsg() != nullptr, "the refused have a message");

  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateContext(&context, 0));
  CHECK(aclrtCreateStream(&stream));
  for (int round = 0; round < 5; round++) {
    Work work(2, 8, static_cast<float>(100 * number + round));
    CHECK(work.submit(stream));
    CHECK(aclrtSynchronizeStream(stream));
    expect(work.right(), "every thread gets its own result");

    // A message belongs to the thread whose call failed.
    const int64_t marked[] = {1000 + number, 7};
    aclTensor* tensor = aclCreateTensor(marked, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, marked, 2, nullptr);
    int64_t* shape = nullptr;
    uint64_t rank = 0;
    CHECK(aclGetViewShape(tensor, &shape, &rank));
    expect(rank == 2 && shape[0] == marked[0] && shape[1] == 7, "a tensor keeps its shape");
    delete[] shape;
    CHECK(aclDestroyTensor(tensor));
    expect(aclDestroyTensor(tensor) == ACLNN_ERR_PARAM_INVALID, "destroying twice is refused");
    const char* message = aclGetRecentErrMsg();
    expect(message != nullptr && strstr(message, "destroyed tensor") != nullptr, "with a message");
    expect(aclGetRecentErrMsg() == nullptr, "that is told once");
  }
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
}

}  // namespace

int main() {
  const int count = 8;
  pthread_barrier_init(&barrier, nullptr, count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back(in_thread, i);
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&barrier);
  CHECK(aclFinalize());
  expect(initialised == 1 && refused == count - 1, "exactly one initialised");
  std::printf("wrong %d\n", wrong.load());
  return wrong != 0;
}
