// The worker pool: an interface of four functions, so that applications can provide their own pool.
#pragma once

namespace openaclnn::cpu {

// Kernels run on its threads, so each of them needs a ScopedScratch (cpu/scratch.h).
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;

  // Returns the number of threads that may work at the same time, at least 1.
  virtual int num_threads() const = 0;

  // Calls function(argument) on a worker soon. It does not call it at once, so that a caller that is about to
  // wait can do the work itself without a hand-over. One call per worker may answer several requests. Returns
  // false, and calls nothing, if no worker is available. A pool has one function and argument.
  virtual bool submit(void (*function)(void*), void* argument) noexcept = 0;

  // Cancels requests of submit() that no worker has answered yet.
  virtual void withdraw() noexcept = 0;

  // Calls function(argument) on up to `threads` threads at once, including the caller, and returns when all
  // calls have returned. At least the caller's own call happens. Concurrent and nested calls are allowed. A
  // waiting caller runs no unrelated work.
  virtual void run(int threads, void (*function)(void*), void* argument) noexcept = 0;
};

// Creates our own pool, with at most `num_threads` workers, which start when first needed; returns nullptr on
// failure.
WorkerPool* make_worker_pool(int num_threads) noexcept;

// Returns a small number that identifies the pool's threads: 1, 2, … in workers, 0 in all other threads.
int worker_number();

}  // namespace openaclnn::cpu
