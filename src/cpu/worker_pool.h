// The worker pool: threads behind four functions, so that an embedder can put its own in place of ours.
#pragma once

namespace openaclnn::cpu {

// Kernels run on its threads, so each of them has a ScopedScratch (cpu/scratch.h).
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;

  // Threads that may work at the same time, at least 1.
  virtual int num_threads() const = 0;

  // Calls function(argument) on some worker, soon: not at once, so that a caller that is about to wait for the work anyway can do
  // it itself, without a hand-over. Several requests may be answered by one call for every worker. false when no worker can
  // be had; then nothing is called. There is one function and argument per pool.
  virtual bool submit(void (*function)(void*), void* argument) noexcept = 0;

  // Takes back the requests of submit() that no worker has answered yet.
  virtual void withdraw() noexcept = 0;

  // Calls function(argument) on up to `threads` threads at once, the caller among them, and returns when all calls have
  // returned. At least the caller's call happens. Concurrent and nested calls are allowed; a caller that waits picks up no
  // foreign work.
  virtual void run(int threads, void (*function)(void*), void* argument) noexcept = 0;
};

// Our own, with at most `num_threads` workers, made when they are first needed; nullptr when it cannot be made.
WorkerPool* make_worker_pool(int num_threads) noexcept;

// A small number that tells the threads of the pool apart: 1, 2, … in workers, 0 in all other threads.
int worker_number();

}  // namespace openaclnn::cpu
