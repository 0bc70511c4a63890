// The thread pool behind three functions, so that an embedder can put its own in place of oneTBB.
#pragma once

namespace openaclnn::cpu {

class Pool {
 public:
  virtual ~Pool() = default;

  // Threads that may work at the same time, at least 1.
  virtual int num_threads() const = 0;

  // Calls function(argument) on some worker, later. false when no worker can be had; then nothing is called.
  virtual bool submit(void (*function)(void*), void* argument) noexcept = 0;

  // Calls function(argument) on up to `threads` threads at once, the caller among them, and returns when all calls have
  // returned. At least the caller's call happens. Concurrent and nested calls are allowed; a caller that waits picks up no
  // foreign work.
  virtual void run(int threads, void (*function)(void*), void* argument) noexcept = 0;
};

// oneTBB's arena with `num_threads` workers; nullptr when it cannot be made.
Pool* make_tbb_pool(int num_threads) noexcept;

}  // namespace openaclnn::cpu
