// Parallel loops for kernels, and the worker pool of the process. Results never depend on the distribution of
// chunks.
#pragma once

#include <cstdint>

namespace openaclnn::cpu {

class WorkerPool;

// With less memory traffic per thread, waking a thread costs more than it saves.
inline constexpr int64_t kMinBytesPerThread = 64 * 1024;

// The threads that kernels may use: OPENACLNN_NUM_THREADS, otherwise the affinity mask limited by the
// process's CPU quotas.
int num_threads();

// Returns the pool, or nullptr in a forked child and if none can be created. Everything then runs on the
// calling thread.
WorkerPool* worker_pool();

// Disables the pool from now on: for forked children and exiting processes.
void abandon_worker_pool();

// Calls body(context, chunk) for each chunk in [0, chunks), each in the task's floating-point environment.
void run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context);

// Returns the number of chunks for `bytes` of traffic: a few per thread, so that a slow thread does not delay
// the others.
int64_t chunks_for(int64_t bytes);

// The range [begin, end) of `count` items that chunk `chunk` of `chunks` owns; begin is a multiple of
// `granularity`.
struct Range {
  int64_t begin;
  int64_t end;
};
Range chunk_range(int64_t count, int64_t chunks, int64_t chunk, int64_t granularity);

// Like run_chunks, with any callable body(chunk).
template <class Body>
void parallel_for(int64_t chunks, const Body& body) {
  run_chunks(
      chunks, [](void* context, int64_t chunk) { (*static_cast<const Body*>(context))(chunk); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace openaclnn::cpu
