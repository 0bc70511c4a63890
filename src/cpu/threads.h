// Parallel loops for kernels, and the process's pool. Results never depend on how the chunks are distributed.
#pragma once

#include <cstdint>

namespace openaclnn::cpu {

class WorkerPool;

// Below this much memory traffic per thread, waking a thread costs more than it brings.
inline constexpr int64_t kMinBytesPerThread = 64 * 1024;

// Threads that kernels may use: OPENACLNN_NUM_THREADS, else the affinity mask capped by the CPU quotas of the process's groups.
int num_threads();

// The pool, or nullptr in a forked child and when none can be made: then everything runs on the calling thread.
WorkerPool* worker_pool();

// From now on no pool: the state of a forked child, and of a process that is exiting.
void abandon_worker_pool();

// Calls body(context, chunk) for each chunk in [0, chunks), each in the task's floating-point environment.
void run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context);

// How many chunks `bytes` of traffic are worth: a few per thread, so that a slow thread does not hold up the rest.
int64_t chunks_for(int64_t bytes);

// The part [begin, end) of `count` items that chunk `chunk` of `chunks` owns; begin is a multiple of `granularity`.
struct Range {
  int64_t begin;
  int64_t end;
};
Range chunk_range(int64_t count, int64_t chunks, int64_t chunk, int64_t granularity);

// run_chunks with any callable body(chunk).
template <class Body>
void parallel_for(int64_t chunks, const Body& body) {
  run_chunks(
      chunks, [](void* context, int64_t chunk) { (*static_cast<const Body*>(context))(chunk); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace openaclnn::cpu
