// The pool on oneTBB. The only file that includes it: thread-sanitizer builds leave this file uninstrumented, because
// libtbb.so is, and the callers order their data themselves.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <new>
#include <optional>

#include "cpu/pool.h"

namespace openaclnn::cpu {

namespace {

class TbbPool final : public Pool {
 public:
  // One slot more than workers is kept for the application thread that waits and helps. By itself oneTBB makes one worker
  // less than the machine has cores, so its limit, which is the process's, is raised where it is too low; never lowered.
  explicit TbbPool(int num_threads) : num_threads_(num_threads), arena_(num_threads + 1, 1) {
    const size_t wanted = static_cast<size_t>(num_threads) + 1;
    if (tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) < wanted) {
      limit_.emplace(tbb::global_control::max_allowed_parallelism, wanted);
    }
  }

  int num_threads() const override { return num_threads_; }

  bool submit(void (*function)(void*), void* argument) noexcept override {
    try {
      arena_.enqueue([function, argument] { function(argument); });
      return true;
    } catch (...) {
      return false;
    }
  }

  void run(int threads, void (*function)(void*), void* argument) noexcept override {
    try {
      arena_.execute([&] {
        // Isolation: while this thread waits for its helpers it must not start another stream's task, which could take
        // arbitrarily long and nest arbitrarily deep.
        tbb::this_task_arena::isolate([&] {
          tbb::parallel_for(
              tbb::blocked_range<int>(0, threads, 1),
              [&](const tbb::blocked_range<int>&) { function(argument); }, tbb::simple_partitioner());
        });
      });
    } catch (...) {
      function(argument);  // no helper could be had
    }
  }

 private:
  const int num_threads_;
  std::optional<tbb::global_control> limit_;
  tbb::task_arena arena_;
};

}  // namespace

Pool* make_tbb_pool(int num_threads) noexcept {
  try {
    return new TbbPool(num_threads);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace openaclnn::cpu
