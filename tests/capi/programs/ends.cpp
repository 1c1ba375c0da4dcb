// Programs that end in unusual ways; the first argument says which.

#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
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

void plain() { run_and_tell(); }

// Two sessions of the runtime in one process.
void twice() {
  run_and_tell();
  run_and_tell();
}

struct Busy {
  Session* session = new Session;  // never destroyed: the program ends before
  Work* work = new Work(64, 128);
  Busy() { queue(*work, session->stream); }
};

void exit_busy() {
  Busy busy;
  std::exit(0);
}
void underscore_exit_busy() {
  Busy busy;
  _exit(0);
}
void return_busy() { Busy busy; }
void abort_busy() {
  Busy busy;
  std::abort();
}
void exec_busy() {
  Busy busy;
  execl("/bin/true", "true", static_cast<char*>(nullptr));
}

// The program leaves while another thread waits for the device.
void exit_while_waiting() {
  Busy busy;
  std::atomic<bool> waiting(false);
  std::thread([&] {
    CHECK(aclrtSetDevice(0));
    waiting = true;
    for (;;) {
      CHECK(aclrtSynchronizeDevice());
      queue(*busy.work, busy.session->stream);
    }
  }).detach();
  while (!waiting) usleep(1000);
  usleep(1000);
  std::exit(0);
}

// The program leaves while other threads are in the middle of calls.
void exit_while_calling() {
  CHECK(aclInit(nullptr));
  for (int i = 0; i < 8; i++) {
    std::thread([] {
      const int64_t two = 2;
      for (;;) aclDestroyIntArray(aclCreateIntArray(&two, 1));
    }).detach();
  }
  usleep(100000);
}

void* rest(void*) {
  run_and_tell();
  return nullptr;
}
// The main thread ends first; the process lives on in another.
void pthread_exit_main() {
  CHECK(aclInit(nullptr));
  CHECK(aclFinalize());
  pthread_t thread;
  pthread_create(&thread, nullptr, rest, nullptr);
  pthread_exit(nullptr);
}

// Calls before main and after it.
struct Global {
  Global() : mine(false) {}
  ~Global() {
    if (mine) std::printf("finalize %d\n", aclFinalize());
  }
  bool mine;
} global;
void finalize_in_destructor() {
  CHECK(aclInit(nullptr));
  global.mine = true;
}
void finalize_at_exit() {
  CHECK(aclInit(nullptr));
  std::atexit([] { std::printf("finalize %d\n", aclFinalize()); });
}
struct PerThread {
  bool used = false;
  ~PerThread() {
    if (used) std::printf("finalize %d\n", aclFinalize());
  }
};
thread_local PerThread per_thread;
void finalize_in_thread_local() {
  std::thread([] {
    per_thread.used = true;
    CHECK(aclInit(nullptr));
  }).join();
}

int open_files() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) count++;
  closedir(directory);
  return count;
}
// Threads that come and go leave nothing open.
void many_threads() {
  CHECK(aclInit(nullptr));
  auto call = [] {
    uint32_t count = 0;
    CHECK(aclrtGetDeviceCount(&count));
  };
  std::thread(call).join();
  const int before = open_files();
  for (int i = 0; i < 300; i++) std::thread(call).join();
  say(open_files() <= before ? "right" : "wrong");
  CHECK(aclFinalize());
}

// More lines than a pipe holds.
void endless() {
  run_and_tell();
  for (;;) std::puts("and so on");
}

// Hours of work, for somebody who interrupts.
void long_work() {
  Session session;
  Work work(64, 256);
  say("ready");
  for (;;) {
    queue(work, session.stream);
    CHECK(aclrtSynchronizeStream(session.stream));
  }
}

// Waits for a line between start and work, so that somebody can do something to the server.
void ask() {
  Session session;
  Work work(4, 16);
  say("ready");
  if (std::getchar() == EOF) std::exit(3);
  CHECK(work.submit(session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  say(work.right() ? "right" : "wrong");
}

// One status per line, once the server is gone.
void go_on_without_server() {
  Session* session = new Session;
  Work* work = new Work(4, 16);
  CHECK(work->submit(session->stream));
  CHECK(aclrtSynchronizeStream(session->stream));
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  say("ready");
  if (std::getchar() == EOF) std::exit(3);
  float number = 0;
  void* other = nullptr;
  const int64_t two = 2;
  std::printf("submit %d\n", work->submit(session->stream));
  std::printf("message %d\n", aclGetRecentErrMsg() != nullptr);
  std::printf("synchronize %d\n", aclrtSynchronizeStream(session->stream));
  std::printf("copy in %d\n", aclrtMemcpy(memory, 64, &number, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  std::printf("copy out %d\n", aclrtMemcpy(&number, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  std::printf("malloc %d\n", aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  std::printf("int array %d\n", aclCreateIntArray(&two, 1) == nullptr);
  std::thread([] { std::printf("set device %d\n", aclrtSetDevice(0)); }).join();
  std::printf("destroy %d\n", aclrtDestroyStream(session->stream));
  std::printf("alive 1\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> ways = {
      {"plain", plain},
      {"twice", twice},
      {"exit-busy", exit_busy},
      {"_exit-busy", underscore_exit_busy},
      {"return-busy", return_busy},
      {"abort-busy", abort_busy},
      {"exec-busy", exec_busy},
      {"exit-while-waiting", exit_while_waiting},
      {"exit-while-calling", exit_while_calling},
      {"pthread-exit-main", pthread_exit_main},
      {"finalize-in-destructor", finalize_in_destructor},
      {"finalize-at-exit", finalize_at_exit},
      {"finalize-in-thread-local", finalize_in_thread_local},
      {"many-threads", many_threads},
      {"endless", endless},
      {"long-work", long_work},
      {"ask", ask},
      {"go-on-without-server", go_on_without_server},
  };
  if (argc != 2 || ways.count(argv[1]) == 0) return 2;
  ways.at(argv[1])();
  return 0;
}
