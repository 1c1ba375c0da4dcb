// Tensors and arrays that are made for one call each. With "messages" it prints how many messages a call takes, with
// objects that stay and with new ones: the program has a writev of its own, which counts. Without an argument threads hand
// objects to each other, at once: each must be known wherever it arrives, and gone wherever it was destroyed.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_avgpool2d_backward.h"
#include "device.hpp"

namespace {

std::atomic<int> messages(0);
std::atomic<int> wrong(0);

void expect(bool good) { wrong += !good; }

// Between two threads.
class Queue {
 public:
  void put(aclTensor* tensor) {
    std::lock_guard<std::mutex> hold(lock_);
    waiting_.push_back(tensor);
    came_.notify_one();
  }
  aclTensor* take() {
    std::unique_lock<std::mutex> hold(lock_);
    came_.wait(hold, [this] { return !waiting_.empty(); });
    aclTensor* tensor = waiting_.front();
    waiting_.pop_front();
    return tensor;
  }

 private:
  std::mutex lock_;
  std::condition_variable came_;
  std::deque<aclTensor*> waiting_;
};

aclTensor* make(int64_t size) {
  const int64_t shape[] = {size, 3};
  return aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, size, ACL_FORMAT_ND, shape, 2, nullptr);
}

// Takes tensors, looks at them, destroys every second one and hands all of them on.
void pass_on(Queue& from, Queue& to, int count) {
  for (int i = 0; i < count; i++) {
    aclTensor* tensor = from.take();
    int64_t offset = -1;
    expect(aclGetViewOffset(tensor, &offset) == 0 && offset == i);
    if (i % 2) expect(aclDestroyTensor(tensor) == 0);
    to.put(tensor);
  }
}

// Ends what is left, and finds the others gone.
void finish(Queue& from, int count) {
  for (int i = 0; i < count; i++) {
    aclTensor* tensor = from.take();
    expect(aclDestroyTensor(tensor) == (i % 2 ? 161002 : 0));
    expect(aclDestroyTensor(tensor) == 161002);
  }
}

void hand_around() {
  const int count = 300, lines = 3;
  std::vector<Queue> first(lines), second(lines);
  std::vector<std::thread> threads;
  for (int line = 0; line < lines; line++) {
    threads.emplace_back([&, line] {
      for (int i = 0; i < count; i++) first[line].put(make(i));
    });
    threads.emplace_back(pass_on, std::ref(first[line]), std::ref(second[line]), count);
    threads.emplace_back(finish, std::ref(second[line]), count);
  }
  for (auto& thread : threads) thread.join();
}

// More than the library keeps in mind.
void make_many() {
  std::vector<aclTensor*> tensors;
  for (int i = 0; i < 5000; i++) tensors.push_back(make(i));
  for (int i = 0; i < 5000; i += 7) {
    int64_t offset = -1;
    expect(aclGetViewOffset(tensors[i], &offset) == 0 && offset == i);
  }
  for (aclTensor* tensor : tensors) expect(aclDestroyTensor(tensor) == 0);
  for (int i = 0; i < 5000; i += 7) expect(aclDestroyTensor(tensors[i]) == 161002);
}

int messages_of(const std::function<void()>& work) {
  const int before = messages, laps = 10;
  for (int i = 0; i < laps; i++) work();
  return (messages - before) / laps;
}

void count_messages(aclrtStream stream) {
  const Shape small = {1, 1, 2, 2}, large = {1, 1, 4, 4};
  void *from = nullptr, *to = nullptr;
  CHECK(aclrtMalloc(&from, 16, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&to, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  aclTensor *gradOutput, *self, *gradInput;
  aclIntArray *kernelSize, *padding;
  const auto describe = [&] {
    const int64_t two[] = {2, 2}, zero[] = {0, 0};
    gradOutput = aclCreateTensor(small.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, small.data(), 4, from);
    self = aclCreateTensor(large.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, large.data(), 4, nullptr);
    gradInput = aclCreateTensor(large.data(), 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, large.data(), 4, to);
    kernelSize = aclCreateIntArray(two, 2);
    padding = aclCreateIntArray(zero, 2);
  };
  const auto forget = [&] {
    for (aclTensor* tensor : {gradOutput, self, gradInput}) CHECK(aclDestroyTensor(tensor));
    for (aclIntArray* array : {kernelSize, padding}) CHECK(aclDestroyIntArray(array));
  };
  const auto run = [&] {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    void* workspace = nullptr;
    CHECK(aclnnAvgPool2dBackwardGetWorkspaceSize(gradOutput, self, kernelSize, nullptr, padding, false, true, 0, 0,
                                                 gradInput, &size, &executor));
    if (size) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnAvgPool2dBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    if (size) CHECK(aclrtFree(workspace));
  };
  describe();
  run();
  const int with_objects_that_stay = messages_of(run);
  forget();
  const int with_new_objects = messages_of([&] {
    describe();
    run();
    forget();
  });
  std::printf("%d %d\n", with_objects_that_stay, with_new_objects);
  CHECK(aclrtFree(from));
  CHECK(aclrtFree(to));
}

}  // namespace

extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  ++messages;
  return syscall(SYS_writev, descriptor, parts, count);
}

int main(int count, char** arguments) {
  Session session;
  if (count > 1 && !std::strcmp(arguments[1], "messages")) {
    count_messages(session.stream);
    return 0;
  }
  hand_around();
  make_many();
  std::printf("wrong %d\n", wrong.load());
}
