// The ways in which programs end while the library is working. exit_test runs it; each mode must exit with
// 0 in time.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"

namespace {

// Without gtest: the program must be able to end in any way.
void check(bool condition, const char* what) {
  if (condition) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "FAILED: %s\n%s\n", what, text != nullptr ? text : "");
  std::fflush(nullptr);
  _exit(1);
}
#define CHECK(condition) check((condition), #condition)

struct Work {
  explicit Work(int64_t count = 1 << 16) : buffers(5, std::vector<float>(static_cast<size_t>(count), 1.0f)) {
    for (size_t k = 0; k < 5; ++k) tensors[k] = tensor(&count, ACL_FLOAT, buffers[k].data());
    const int64_t one = 1;
    tensors[5] = tensor(&one, ACL_INT64, &step);
  }
  static aclTensor* tensor(const int64_t* dims, aclDataType dtype, void* data) {
    return aclCreateTensor(dims, 1, dtype, nullptr, 0, ACL_FORMAT_ND, dims, 1, data);
  }
  aclOpExecutor* plan() {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    CHECK(aclnnApplyFusedEmaAdamGetWorkspaceSize(tensors[0], tensors[1], tensors[2], tensors[3], tensors[4],
                                                 tensors[5], -1, 0, 0, 0, 0, 1, false, 0, &bytes,
                                                 &executor) == 0);
    return executor;
  }
  int run(aclrtStream stream) { return aclnnApplyFusedEmaAdam(nullptr, 0, plan(), stream); }

  std::vector<std::vector<float>> buffers;
  aclTensor* tensors[6];
  int64_t step = 1;
};

aclrtStream set_up() {
  aclrtStream stream = nullptr;
  CHECK(aclInit(nullptr) == 0);
  CHECK(aclrtSetDevice(0) == 0);
  CHECK(aclrtCreateStream(&stream) == 0);
  return stream;
}

// Calls of late destructors. The results depend on what has already ended; nothing may crash or hang.
struct Late {
  Work* work = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  void* block = nullptr;
  aclOpExecutor* consumed = nullptr;

  void fill() {
    work = new Work;
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(aclrtCreateEvent(&event) == 0);
    CHECK(aclrtMalloc(&block, 1000, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    consumed = work->plan();
    CHECK(aclnnApplyFusedEmaAdam(nullptr, 0, consumed, stream) == 0);
    for (int k = 0; k < 100; ++k) CHECK(work->run(stream) == 0);
    CHECK(aclrtRecordEvent(event, stream) == 0);
  }
  void use() {
    if (work == nullptr) return;
    (void)aclrtSetDevice(0);
    (void)aclrtSynchronizeStream(stream);
    (void)aclrtSynchronizeEvent(event);
    std::fill(work->buffers[1].begin(), work->buffers[1].end(), 1.0f);
    if (work->run(nullptr) == 0) {  // new work still runs
      CHECK(aclrtSynchronizeStream(nullptr) == 0);
      CHECK(work->buffers[1][0] == 2.0f && work->buffers[1].back() == 2.0f);
    }
    (void)aclrtRecordEvent(event, nullptr);
    (void)aclrtStreamWaitEvent(stream, event);
    (void)aclrtSynchronizeDevice();
    CHECK(aclDestroyAclOpExecutor(consumed) == 561000);
    for (aclTensor* tensor : work->tensors) CHECK(aclDestroyTensor(tensor) == 0);
    CHECK(aclrtFree(block) == 0);
    (void)aclrtDestroyEvent(event);
    (void)aclrtDestroyStream(stream);
    (void)aclrtResetDevice(0);
    (void)aclFinalize();
    (void)aclGetRecentErrMsg();
    delete work;
    work = nullptr;
  }
  ~Late() { use(); }
};

Late at_static_destruction;
Late at_exit_handler;

// ---- the modes ----

void queued_work() {
  aclrtStream stream = set_up();
  auto* work = new Work(1 << 20);
  for (int k = 0; k < 50; ++k) CHECK(work->run(stream) == 0);
}

// Tensor memory of statics is freed during exit, while tasks on it are queued.
std::vector<float> static_memory;
void queued_work_on_statics() {
  aclrtStream stream = set_up();
  static_memory.resize(8 << 20);
  for (int k = 0; k < 200; ++k)
    CHECK(aclrtMemsetAsync(static_memory.data(), 32 << 20, k, 32 << 20, stream) == 0);
}

struct LaterStatic {
  std::vector<char> memory = std::vector<char>(32 << 20);
};
void queued_work_on_later_statics() {
  aclrtStream stream = set_up();
  Work work;
  CHECK(work.run(stream) == 0);
  CHECK(aclrtSynchronizeStream(stream) == 0);
  static LaterStatic
      later;  // constructed after the library's first task, so destroyed before the task's exit handlers
  for (int k = 0; k < 200; ++k)
    CHECK(aclrtMemsetAsync(later.memory.data(), 32 << 20, k, 32 << 20, stream) == 0);
}

// Synchronises after its tasks were dropped, which must not look like success.
struct LateReader {
  aclrtStream stream = nullptr;
  std::vector<char> memory;
  ~LateReader() {
    if (stream == nullptr) return;
    const int code = aclrtSynchronizeStream(stream);
    const bool complete = memory.back() == 99;  // all tasks ran before the process ended
    CHECK(code == (complete ? 0 : 507035));
    const char* message = aclGetRecentErrMsg();
    CHECK(complete || std::strstr(message, "did not run, because the process ended first") != nullptr);
    CHECK(aclrtSynchronizeStream(stream) == 0);  // reported once
  }
};
LateReader late_reader;
void late_synchronize() {
  late_reader.stream = set_up();
  late_reader.memory.resize(32 << 20);
  for (int k = 0; k < 100; ++k)
    CHECK(aclrtMemsetAsync(late_reader.memory.data(), 32 << 20, k, 32 << 20, late_reader.stream) == 0);
}

void static_destructors() {
  (void)set_up();
  at_static_destruction.fill();
}

void atexit_handlers() {
  std::atexit([] { at_exit_handler.use(); });
  (void)set_up();
  at_exit_handler.fill();
  std::atexit([] { CHECK(aclrtSynchronizeDevice() == 0); });
}

void after_finalize() {
  (void)set_up();
  at_static_destruction.fill();
  Work work;
  CHECK(aclFinalize() == 0);
  for (aclTensor* tensor : work.tensors) CHECK(aclDestroyTensor(tensor) == 0);
  CHECK(aclrtSynchronizeStream(nullptr) == 107002);
}

void finalize_at_exit() {
  queued_work();
  std::atexit([] { CHECK(aclFinalize() == 0); });
}

struct ThreadLate {
  Late late;
};
void thread_local_destructors() {
  (void)set_up();
  std::thread([] {
    thread_local ThreadLate at_thread_end;
    CHECK(aclrtSetDevice(0) == 0);
    at_thread_end.late.fill();
  }).join();
  CHECK(aclrtSetDevice(0) == 0);  // the thread finalised everything when it ended
  thread_local ThreadLate of_main;
  of_main.late.fill();
}

void threads_still_running() {
  (void)set_up();
  static std::atomic<int> started{0};
  for (int k = 0; k < 3; ++k) {
    std::thread([] {
      CHECK(aclrtSetDevice(0) == 0);
      aclrtStream stream = nullptr;
      CHECK(aclrtCreateStream(&stream) == 0);
      auto* work = new Work;
      for (int n = 0;; ++n) {
        if (work->run(stream) != 0) return;
        if (n % 4 == 0) (void)aclrtSynchronizeStream(stream);
        if (n == 10) ++started;
      }
    }).detach();
  }
  while (started < 3) {
  }
}

void thread_waiting() {
  aclrtStream stream = set_up();
  static std::atomic<bool> started{false};
  auto* work = new Work(1 << 20);
  for (int k = 0; k < 50; ++k) CHECK(work->run(stream) == 0);
  std::thread([stream] {
    CHECK(aclrtSetDevice(0) == 0);
    started = true;
    (void)aclrtSynchronizeStream(stream);
  }).detach();
  while (!started) {
  }
}

void exit_from_a_thread() {
  aclrtStream stream = set_up();
  auto* work = new Work;
  for (int k = 0; k < 50; ++k) CHECK(work->run(stream) == 0);
  std::thread([] { std::exit(0); }).join();
}

void never_ran() {
  CHECK(aclInit(nullptr) == 0);
  Work work;
  for (int k = 0; k < 1000; ++k) (void)work.plan();
}

void nothing_at_all() {}

struct Mode {
  const char* name;
  void (*run)();
};
constexpr Mode kModes[] = {{"queued_work", queued_work},
                           {"queued_work_on_statics", queued_work_on_statics},
                           {"queued_work_on_later_statics", queued_work_on_later_statics},
                           {"late_synchronize", late_synchronize},
                           {"static_destructors", static_destructors},
                           {"atexit_handlers", atexit_handlers},
                           {"after_finalize", after_finalize},
                           {"finalize_at_exit", finalize_at_exit},
                           {"thread_local_destructors", thread_local_destructors},
                           {"threads_still_running", threads_still_running},
                           {"thread_waiting", thread_waiting},
                           {"exit_from_a_thread", exit_from_a_thread},
                           {"never_ran", never_ran},
                           {"nothing_at_all", nothing_at_all}};

}  // namespace

int main(int argc, char** argv) {
  alarm(100);
  for (const Mode& mode : kModes) {
    if (argc == 1) std::puts(mode.name);
    if (argc == 2 && std::strcmp(argv[1], mode.name) == 0) {
      mode.run();
      return 0;
    }
  }
  return argc == 1 ? 0 : 2;
}
