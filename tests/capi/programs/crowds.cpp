// Many threads, odd threads, and very many calls; the first argument says which.

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "work.hpp"

namespace {

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

void count_devices() {
  uint32_t count = 0;
  CHECK(aclrtGetDeviceCount(&count));
}

// Two hundred threads at once, each with a connection of its own.
void crowd() {
  CHECK(aclInit(nullptr));
  pthread_barrier_t all;
  pthread_barrier_init(&all, nullptr, 200);
  std::vector<std::thread> threads;
  for (int i = 0; i < 200; i++) {
    threads.emplace_back([&all] {
      count_devices();
      pthread_barrier_wait(&all);
      count_devices();
    });
  }
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&all);
  CHECK(aclFinalize());
  say("right");
}

void* fail_and_ask(void*) {
  count_devices();
  aclDestroyTensor(reinterpret_cast<aclTensor*>(16));
  if (aclGetRecentErrMsg() != nullptr) say("right");
  return nullptr;
}
// A thread with as little stack as a careful program gives it.
void small_stack() {
  CHECK(aclInit(nullptr));
  pthread_attr_t little;
  pthread_attr_init(&little);
  pthread_attr_setstacksize(&little, 64 * 1024);
  pthread_t thread;
  pthread_create(&thread, &little, fail_and_ask, nullptr);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&little);
  CHECK(aclFinalize());
}

void cancel(std::thread& thread) {
  pthread_cancel(thread.native_handle());
  thread.join();
}
// A thread is cancelled while it waits for the device; the others go on.
void cancel_waiting() {
  Session session;
  Work work(64, 128);
  queue(work, session.stream);
  std::thread waiting([] {
    CHECK(aclrtSetDevice(0));
    aclrtSynchronizeDevice();
  });
  usleep(20000);
  cancel(waiting);
  CHECK(aclrtSynchronizeStream(session.stream));
  say(work.right() ? "right" : "wrong");
  CHECK(aclrtResetDevice(0));  // for the thread that never came to it
}
// A thread is cancelled in the middle of the first call of all; the next call is the first one, or fails.
void cancel_starting() {
  std::thread first([] { aclInit(nullptr); });
  usleep(20000);
  cancel(first);
  const aclError status = aclInit(nullptr);
  say(status == ACL_SUCCESS || status == ACL_ERROR_REPEAT_INITIALIZE ? "right" : "refused");
}

// The same things made and destroyed over and over; somebody outside watches the memory.
void churn() {
  Session session;
  const Shape shape = {2, 3, 4, 5};
  for (int half = 0; half < 2; half++) {
    for (int i = 0; i < 3000; i++) {
      Tensor<float> tensor(shape, ACL_FLOAT, ACL_FORMAT_NCHW, counting(shape, 0));
      IntArray array(shape);
      aclrtStream stream = nullptr;
      aclrtEvent event = nullptr;
      CHECK(aclrtCreateStream(&stream));
      CHECK(aclrtCreateEvent(&event));
      CHECK(aclrtRecordEvent(event, stream));
      CHECK(aclrtDestroyEvent(event));
      CHECK(aclrtDestroyStream(stream));
      aclDestroyTensor(reinterpret_cast<aclTensor*>(16));  // fails, with a message that nobody takes
      int64_t* dims = nullptr;
      uint64_t rank = 0;
      CHECK(aclGetViewShape(tensor.handle, &dims, &rank));
      delete[] dims;
      if (i % 10 == 0) {
        Work work(1, 4);
        CHECK(work.submit(session.stream));
        std::thread(count_devices).join();
      }
    }
    CHECK(aclrtSynchronizeStream(session.stream));
    say("look");
    if (std::getchar() == EOF) std::exit(3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> ways = {
      {"crowd", crowd},
      {"small-stack", small_stack},
      {"cancel-waiting", cancel_waiting},
      {"cancel-starting", cancel_starting},
      {"churn", churn},
  };
  if (argc != 2 || ways.count(argv[1]) == 0) return 2;
  ways.at(argv[1])();
  return 0;
}
