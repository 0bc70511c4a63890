// Makes calls that are rejected, for refusal_log_test, which reads stderr. Each mode must exit with 0.
//   refusal_log_program threads    the same rejections from several threads, including those of phase 1
//   refusal_log_program many       more different texts than are stored
//   refusal_log_program fork       the parent's rejections and one more in a child
//   refusal_log_program cancel     a rejection in a thread that is to be cancelled
//   refusal_log_program closed     stderr is closed
//   refusal_log_program control    a text with control characters, and one that is too long
//   refusal_log_program memory     the first call of the process is rejected, and allocations fail
//   refusal_log_program questions  calls whose failure is an answer: no device yet, not finished yet
//   refusal_log_program success    calls that succeed
//   refusal_log_program own        lines of the program's own log
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_embedding.h"
#include "openaclnn/openaclnn.h"
#include "runtime/failing_resources.h"

// A fork holds more locks than the 64 that thread sanitizer's search for deadlocks can count.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0:detect_deadlocks=0"; }

namespace {

// "opt is 1000; …"
bool refuse_option(int option) {
  int64_t value = 0;
  return aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(option), &value) == 100000;
}

bool refuse_in_phase1() {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  return aclnnEmbeddingGetWorkspaceSize(nullptr, nullptr, nullptr, &bytes, &executor) == 161001;
}

bool threads() {
  std::vector<std::thread> all;
  std::vector<char> right(4, 0);
  for (size_t k = 0; k < right.size(); ++k) {
    all.emplace_back([&right, k] {
      right[k] = 1;
      for (int n = 0; n < 500; ++n) right[k] &= refuse_option(1000 + n % 5) && refuse_in_phase1() ? 1 : 0;
    });
  }
  for (std::thread& thread : all) thread.join();
  return right == std::vector<char>(right.size(), 1);
}

bool many() {
  for (int round = 0; round < 2; ++round) {
    for (int n = 0; n < 3000; ++n) {
      if (!refuse_option(1000 + n)) return false;
    }
  }
  return true;
}

bool forked() {
  if (!refuse_option(1000)) return false;
  const pid_t child = fork();
  if (child == 0) _exit(refuse_option(1000) && refuse_option(1001) ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

// The code after the rejection must run: the thread ends at its own cancellation point.
bool cancelled() {
  bool came_back = false;
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* flag) -> void* {
        pthread_cancel(pthread_self());
        (void)refuse_option(1000);
        *static_cast<bool*>(flag) = true;
        pthread_testcancel();
        return nullptr;
      },
      &came_back);
  void* result = nullptr;
  pthread_join(thread, &result);
  return came_back && result == PTHREAD_CANCELED;
}

bool closed() {
  close(STDERR_FILENO);
  if (!refuse_in_phase1()) return false;  // selects the platform, which reads files
  errno = EDOM;
  return refuse_option(1000) && errno == EDOM;
}

bool control() {
  const std::string long_name(5000, 'x');
  return openaclnnReportMissing("a\033[31mb\nc") == 561003 &&
         openaclnnReportMissing(long_name.c_str()) == 561003 && aclInit(("/" + long_name).c_str()) == 100003;
}

// The rejection itself reads the settings: in each child another allocation of its first call fails.
bool without_memory() {
  for (long n = 0; n < 60; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      runtime_test::fail_allocation_after(n);
      int64_t value = 0;
      const int code = aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(1000), &value);
      runtime_test::fail_allocation_after(-1);
      _exit((code == 100000 || code == 207001) && refuse_option(1000) ? 0 : 1);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) return false;
  }
  return true;
}

bool questions() {
  int32_t device = 0;
  aclrtContext context = nullptr;
  aclrtEvent event = nullptr;
  if (aclrtGetDevice(&device) != 107002 || aclrtGetCurrentContext(&context) != 107002) return false;
  constexpr size_t kBytes = size_t{32} << 20;
  void* memory = nullptr;
  if (aclrtSetDevice(0) != 0 || aclrtCreateEvent(&event) != 0 ||
      aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
    return false;
  for (int n = 0; n < 30; ++n) {  // far longer than it takes to ask
    if (aclrtMemsetAsync(memory, kBytes, n, kBytes, nullptr) != 0) return false;
  }
  return aclrtRecordEvent(event, nullptr) == 0 && aclrtSynchronizeStreamWithTimeout(nullptr, 0) == 507046 &&
         aclrtSynchronizeEventWithTimeout(event, 1) == 507047 && aclrtSynchronizeDevice() == 0 &&
         aclrtDestroyEvent(event) == 0 && aclrtFree(memory) == 0;
}

bool success() { return aclrtSetDevice(0) == 0 && aclrtSynchronizeDevice() == 0; }

bool own() {
  ACL_APP_LOG(ACL_DEBUG, "debug");
  ACL_APP_LOG(ACL_INFO, "step %d of %s", 3, "ten");
  aclAppLog(ACL_WARNING, "run", "main.cc", 7, "two\nlines");
  aclAppLog(ACL_ERROR, nullptr, nullptr, 0, nullptr);
  aclAppLog(static_cast<aclLogLevel>(9), "run", "main.cc", 8, "%s", std::string(5000, 'x').c_str());
  return aclGetRecentErrMsg() == nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);
  const std::map<std::string, bool (*)()> modes = {
      {"threads", threads},     {"many", many},       {"fork", forked},           {"cancel", cancelled},
      {"closed", closed},       {"control", control}, {"memory", without_memory}, {"success", success},
      {"questions", questions}, {"own", own}};
  const auto mode = modes.find(argc == 2 ? argv[1] : "");
  if (mode == modes.end()) return 2;
  return mode->second() ? 0 : 1;
}
