// What a fork may do to a program that uses the device; the first argument says which.

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "work.hpp"

namespace {

const char* self_path;

int exit_code_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The child of a program in the middle of its work: every call is a status, and the parent goes on.
void child_calls() {
  Session session;
  Work work(64, 64);
  queue(work, session.stream);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const pid_t child = fork();
  if (child == 0) {
    float number = 0;
    void* other = nullptr;
    const int64_t two = 2;
    std::printf("malloc %d\n", aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    std::printf("message %d\n", aclGetRecentErrMsg() != nullptr);
    std::printf("submit %d\n", work.submit(session.stream));
    std::printf("synchronize %d\n", aclrtSynchronizeStream(session.stream));
    std::printf("copy in %d\n", aclrtMemcpy(memory, 64, &number, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    std::printf("copy out %d\n", aclrtMemcpy(&number, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    std::printf("int array %d\n", aclCreateIntArray(&two, 1) == nullptr);
    std::printf("init %d\n", aclInit(nullptr));
    std::printf("finalize %d\n", aclFinalize());
    std::fflush(stdout);
    std::exit(0);  // with all that exit does
  }
  std::printf("child %d\n", exit_code_of(child));
  CHECK(aclrtSynchronizeStream(session.stream));
  std::puts(work.right() ? "right" : "wrong");
}

// A child that only execs, as popen and system do: it can use a device of its own.
void child_execs() {
  Session session;
  Work work(64, 64);
  queue(work, session.stream);
  const pid_t child = fork();
  if (child == 0) {
    execl(self_path, self_path, "list-files", static_cast<char*>(nullptr));
    _exit(9);
  }
  std::printf("child %d\n", exit_code_of(child));
  CHECK(aclrtSynchronizeStream(session.stream));
  std::puts(work.right() ? "right" : "wrong");
}
// What the exec'ed child sees of its parent's files; then its own work.
void list_files() {
  for (int file = 3; file < 1024; file++) {
    if (fcntl(file, F_GETFD) != -1) std::printf("inherited file %d\n", file);
  }
  run_and_tell();
}

// Parent and child each start with the device after the fork.
void both_start_after() {
  const pid_t child = fork();
  run_and_tell();
  if (child != 0) std::printf("child %d\n", exit_code_of(child));
}

// Forks again and again while threads do something, holding whatever they hold; every child's call must be refused.
void fork_beside(void (*something)(int64_t turn)) {
  CHECK(aclInit(nullptr));
  const int64_t one = 1;
  aclIntArray* array = aclCreateIntArray(&one, 1);
  std::atomic<bool> stop(false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&stop, something] {
      for (int64_t turn = 0; !stop; turn++) something(turn);
    });
  }
  int wrong = 0;
  for (int i = 0; i < 50; i++) {
    const pid_t child = fork();
    if (child == 0) {
      uint32_t count = 0;
      alarm(20);  // a child that hangs is wrong, too
      _exit(aclDestroyIntArray(array) == ACL_SUCCESS || aclrtGetDeviceCount(&count) == ACL_SUCCESS ? 1 : 0);
    }
    wrong += exit_code_of(child) != 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(aclDestroyIntArray(array));
  CHECK(aclFinalize());
  std::printf("wrong %d\n", wrong);
}
void fork_among_threads() {
  fork_beside([](int64_t) {
    const int64_t two = 2;
    CHECK(aclDestroyIntArray(aclCreateIntArray(&two, 1)));
  });
}
// Threads that ask for the time all the while, as those that log do: at the fork one of them holds the zone's lock.
void fork_among_clocks() {
  fork_beside([](int64_t turn) {
    struct tm parts;
    const time_t now = turn;
    localtime_r(&now, &parts);
  });
}

// Children are made all the time while the server starts, and live on: none may hold on to what tells of its end.
void fork_while_starting() {
  std::atomic<bool> stop(false);
  std::vector<pid_t> children;
  std::thread forking([&] {
    while (!stop && children.size() < 500) {
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      children.push_back(child);
    }
  });
  while (children.empty()) usleep(100);
  std::printf("init %d\n", aclInit(nullptr));
  stop = true;
  forking.join();
  for (pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// A program that waits for its own children must not meet the server.
void no_strange_children() {
  run_and_tell();
  errno = 0;
  std::printf("wait %d\n", wait(nullptr) == -1 && errno == ECHILD);
  std::printf("system %d\n", WEXITSTATUS(system("exit 3")));
  run_and_tell();
}
// Also if orphans become its children: the server stands under somebody else.
void orphans_adopted() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  no_strange_children();
}
// Nor be harmed by one that takes whatever child there is, at once.
void children_taken() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  };
  sigaction(SIGCHLD, &action, nullptr);
  run_and_tell();
}
// The same for one that ignores them, where nobody can be waited for.
void children_ignored() {
  signal(SIGCHLD, SIG_IGN);
  run_and_tell();
}

// A timer that interrupts every system call there is.
void interrupted() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const struct itimerval often = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, nullptr);
  run_and_tell();
  Session session;
  Work work(16, 128);
  for (int i = 0; i < 300; i++) CHECK(work.submit(session.stream));
  CHECK(aclrtSynchronizeStream(session.stream));
  std::puts(work.right() ? "right" : "wrong");
}

// A handler that calls in the middle of a call is refused, and harms neither.
void call_in_handler() {
  Session session;
  static std::atomic<int> refused(0), answered(0);
  struct sigaction action = {};
  action.sa_handler = [](int) {
    int32_t device = 0;
    ++(aclrtGetDevice(&device) == ACL_SUCCESS ? answered : refused);
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const struct itimerval often = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, nullptr);
  int wrong = 0;
  int32_t device = 0;
  while (refused < 10) wrong += aclrtGetDevice(&device) != ACL_SUCCESS || device != 0;
  const struct itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("wrong %d\n", wrong);
}

// The same for calls that ask nobody.
void objects_in_handler() {
  Session session;
  static std::atomic<int> refused(0);
  struct sigaction action = {};
  action.sa_handler = [](int) {
    const int64_t one = 1;
    refused += aclDestroyIntArray(nullptr) != ACL_SUCCESS && aclCreateIntArray(&one, 1) == nullptr;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const struct itimerval often = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, nullptr);
  int wrong = 0;
  const int64_t two = 2;
  while (refused < 3000) wrong += aclDestroyIntArray(aclCreateIntArray(&two, 1)) != ACL_SUCCESS;
  const struct itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("wrong %d\n", wrong);
}

// A call that never returns leaves its answer in the pipe: no later call of the thread may take it for its own.
sigjmp_buf before_the_call;
void call_left() {
  Session session;
  Work work(64, 512);
  queue(work, session.stream);
  signal(SIGALRM, [](int) { siglongjmp(before_the_call, 1); });
  if (sigsetjmp(before_the_call, 1) == 0) {
    const struct itimerval soon = {{0, 0}, {0, 2000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    for (;;) CHECK(aclrtSynchronizeStream(session.stream));
  }
  void* memory = nullptr;
  std::printf("unknown device %d\n", aclrtSetDevice(5));
  std::printf("malloc %d\n", aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  std::printf("memory %d\n", memory != nullptr);
  std::fflush(stdout);
  _exit(0);
}

// A child that lives on, and threads that ended meanwhile. Says "ready" and waits for the end of its input.
void child_lives_on() {
  CHECK(aclInit(nullptr));
  std::atomic<int> called(0);
  std::atomic<bool> stop(false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; i++) {
    threads.emplace_back([&] {
      uint32_t count = 0;
      CHECK(aclrtGetDeviceCount(&count));
      ++called;
      while (!stop) usleep(100);
    });
  }
  while (called < 20) usleep(100);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(aclFinalize());
}

// All files closed by somebody who makes a daemon.
void files_closed() {
  CHECK(aclInit(nullptr));
  for (int file = 3; file < 1024; file++) close(file);
  uint32_t count = 0;
  std::printf("count %d\n", aclrtGetDeviceCount(&count));
  std::printf("finalize %d\n", aclFinalize());
}

// The device's memory is in no core dump and in no child: the flags of the large mapping say so.
void mapping_flags() {
  CHECK(aclInit(nullptr));
  FILE* maps = std::fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long long first = 0, last = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::sscanf(line, "%llx-%llx ", &first, &last) == 2) continue;
    const std::string text(line);
    if (text.compare(0, 8, "VmFlags:") == 0 && last - first >= (1ull << 30) && text.find(" sh ") != std::string::npos) {
      std::printf("no dump %d, no fork %d\n", text.find(" dd") != std::string::npos,
                  text.find(" dc") != std::string::npos);
    }
  }
  std::fclose(maps);
  CHECK(aclFinalize());
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> ways = {
      {"child-calls", child_calls},
      {"child-execs", child_execs},
      {"list-files", list_files},
      {"both-start-after", both_start_after},
      {"fork-among-threads", fork_among_threads},
      {"fork-while-starting", fork_while_starting},
      {"no-strange-children", no_strange_children},
      {"orphans-adopted", orphans_adopted},
      {"call-in-handler", call_in_handler},
      {"objects-in-handler", objects_in_handler},
      {"call-left", call_left},
      {"fork-among-clocks", fork_among_clocks},
      {"child-lives-on", child_lives_on},
      {"children-ignored", children_ignored},
      {"children-taken", children_taken},
      {"interrupted", interrupted},
      {"files-closed", files_closed},
      {"mapping-flags", mapping_flags},
  };
  self_path = argv[0];
  if (argc != 2 || ways.count(argv[1]) == 0) return 2;
  ways.at(argv[1])();
  return 0;
}
