// Runs every case of every operator on a thread with a stack of 64 KiB above a guard page: alone, and
// beside workers with such stacks.
//
// The thread makes all calls. If the system refuses threads, it also runs every kernel inside of phase 2.
// Otherwise small kernels run there, and large ones inside of synchronise or in workers.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/sanitized.h"
#include "cpu/dispatch.h"
#include "runtime/failing_resources.h"
#include "support/case_call.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;

// Memory for one stack, filled with a pattern that shows its depth of use.
class SmallStack {
 public:
  SmallStack() {
    void* const mapped = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED || mprotect(mapped, kGuardBytes, PROT_NONE) != 0) std::abort();
    guard_ = static_cast<unsigned char*>(mapped);
    std::memset(address(), kPattern, kStackBytes);
  }
  ~SmallStack() { munmap(guard_, kGuardBytes + kStackBytes); }
  SmallStack(const SmallStack&) = delete;
  SmallStack& operator=(const SmallStack&) = delete;

  unsigned char* address() const { return guard_ + kGuardBytes; }
  // Includes the thread's own data, which is at the top.
  size_t used_bytes() const {
    const unsigned char* const end = address() + kStackBytes;
    return static_cast<size_t>(end - std::find_if(address(), guard_ + kGuardBytes + kStackBytes,
                                                  [](unsigned char byte) { return byte != kPattern; }));
  }

 private:
  static constexpr size_t kGuardBytes = size_t{1} << 20;  // no frame steps over it
  static constexpr unsigned char kPattern = 0xA7;
  unsigned char* guard_;
};

// The thread's task, which the test's own thread prepares and judges.
struct Work {
  std::vector<CaseCall> calls;
  bool alone;
  size_t succeeded = 0;
  size_t refused = 0;
};

void make_calls(Work& work) {
  runtime_test::refuse_threads(work.alone);
  for (const CaseCall& call : work.calls) {
    work.succeeded += succeeded(call.run()) ? 1 : 0;
    // And a refusal, with its error message.
    const std::vector<aclTensor*> none(call.tensors().size(), nullptr);
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    work.refused += call.description().phase1(none, &workspace_bytes, &executor) != 0 ? 1 : 0;
    (void)take_error_text();
  }
  runtime_test::refuse_threads(false);
}

// Returns how many bytes of the stack were used.
size_t run_on_small_stack(Work& work) {
  const SmallStack stack;
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack.address(), kStackBytes), 0);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    make_calls(*static_cast<Work*>(argument));
    return nullptr;
  };
  const int code = pthread_create(&thread, &attributes, start, &work);
  EXPECT_EQ(code, 0) << std::strerror(code);
  if (code == 0) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return stack.used_bytes();
}

// Workers get stacks of the same size: the library accepts this default.
void use_small_stacks_for_new_threads() {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
  pthread_attr_destroy(&attributes);
}

void run_all_cases(bool alone) {
  if (openaclnn::kSanitized) GTEST_SKIP() << "frames of sanitized programs are several times as large";
  ASSERT_NO_FATAL_FAILURE(use_small_stacks_for_new_threads());
  size_t calls = 0, deepest = 0;
  for (const std::string& name : operator_names()) {
    Work work{{}, alone};
    for (Case& c : all_cases()) {
      if (c.operator_name() == name) work.calls.emplace_back(std::move(c));
    }
    SCOPED_TRACE(name);
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);  // a stack overflow ends the process
    deepest = std::max(deepest, run_on_small_stack(work));
    EXPECT_GT(work.calls.size(), 0u);
    EXPECT_EQ(work.succeeded, work.calls.size());
    EXPECT_EQ(work.refused, work.calls.size());
    calls += work.calls.size();
  }
  std::printf("%s: %zu calls, at most %zu bytes of the stack\n",
              openaclnn::cpu::isa_name(openaclnn::cpu::active_isa()), calls, deepest);
  std::printf("figure %s_calls %zu\nfigure %s_deepest %zu\n", alone ? "alone" : "shared", calls,
              alone ? "alone" : "shared", deepest);
}

// First, because it needs a pool without workers.
TEST(SmallStacks, AreEnoughForAThreadThatRunsAllKernels) { run_all_cases(true); }
TEST(SmallStacks, AreEnoughForAThreadThatSharesKernelsWithWorkers) { run_all_cases(false); }

}  // namespace
}  // namespace openaclnn_test
