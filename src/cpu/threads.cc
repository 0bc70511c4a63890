// Distributes chunks over the pool and determines the number of threads.
#include "cpu/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "base/affinity.h"
#include "base/checked.h"
#include "base/env.h"
#include "base/first_use.h"
#include "cpu/fp_environment.h"
#include "cpu/machine_limits.h"
#include "cpu/worker_pool.h"

namespace openaclnn::cpu {

namespace {

int affinity_threads() {
  const int cpus = affinity_cpus();
  return cpus > 0 ? cpus : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int count_threads() {
  constexpr int kMostThreads = 1024;  // an upper bound: a typing error must not request millions of threads
  if (environment().num_threads > 0) return std::min(environment().num_threads, kMostThreads);
  return threads_within(cpu_quota(), affinity_threads());
}

std::atomic<bool> abandoned{false};
std::atomic<WorkerPool*> the_pool{
    nullptr};  // never destroyed: static destructors of the caller may still run operators

// The chunks of one parallel loop, divided into one stretch per thread. A thread takes the chunks of its own
// stretch first, then helps with the others. Its own stretch is the same in every loop, so that data of one
// loop is still in the thread's cache in the next. The distribution of chunks does not affect results.
struct Job {
  static constexpr int kMostStretches = 64;  // further threads start in a stretch of another thread

  struct alignas(64) Stretch {  // one cache line each
    std::atomic<int64_t> next;
    int64_t end;
    std::atomic<bool> is_owned;
  };

  Job(int64_t chunks, int threads, void (*chunk_body)(void*, int64_t), void* chunk_context)
      : body(chunk_body), context(chunk_context), stretches(std::min(threads, kMostStretches)) {
    for (int k = 0; k < stretches; ++k) {
      const Range range = chunk_range(chunks, stretches, k, 1);
      Stretch& made = stretch[static_cast<size_t>(k)];
      made.next.store(range.begin, std::memory_order_relaxed);
      made.end = range.end;
      made.is_owned.store(false, std::memory_order_relaxed);
    }
  }

  void (*body)(void*, int64_t);
  void* context;
  int stretches;
  std::array<Stretch, kMostStretches> stretch;
};

// Returns the stretch in which this thread starts: that of its number, or the next one in which no other
// thread started.
int own_stretch(Job& job) {
  const int preferred = worker_number() % job.stretches;
  for (int k = 0; k < job.stretches; ++k) {
    const int candidate = (preferred + k) % job.stretches;
    if (!job.stretch[static_cast<size_t>(candidate)].is_owned.exchange(true, std::memory_order_relaxed))
      return candidate;
  }
  return preferred;
}

void work(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  const ScopedFpEnvironment fp_environment;
  const int first = own_stretch(job);
  for (int k = 0; k < job.stretches; ++k) {
    Job::Stretch& stretch = job.stretch[static_cast<size_t>((first + k) % job.stretches)];
    while (true) {
      const int64_t chunk = stretch.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= stretch.end) break;
      job.body(job.context, chunk);
    }
  }
}

}  // namespace

int num_threads() {
  static std::atomic<int> known{0};
  if (const int count = known.load(std::memory_order_relaxed); count > 0) return count;
  (void)is_first(known, count_threads());
  return known.load(std::memory_order_relaxed);
}

WorkerPool* worker_pool() {
  if (abandoned.load(std::memory_order_acquire)) return nullptr;
  WorkerPool* const existing = the_pool.load(std::memory_order_acquire);
  if (existing != nullptr) return existing;
  // If memory was exhausted, the next call tries again.
  std::unique_ptr<WorkerPool> made(make_worker_pool(num_threads()));
  if (made != nullptr && is_first(the_pool, made.get())) return made.release();
  return the_pool.load(std::memory_order_acquire);  // the discarded pools have no threads yet
}

void abandon_worker_pool() { abandoned.store(true, std::memory_order_release); }

void run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context) {
  const int threads = static_cast<int>(std::min<int64_t>(chunks, num_threads()));
  WorkerPool* const helpers = threads > 1 ? worker_pool() : nullptr;
  if (helpers == nullptr) {
    const ScopedFpEnvironment fp_environment;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(context, chunk);
    return;
  }
  Job job(chunks, threads, body, context);
  helpers->run(threads, work, &job);
}

int64_t chunks_for(int64_t bytes) {
  constexpr int64_t kChunksPerThread = 4;
  const int64_t most = num_threads() > 1 ? kChunksPerThread * num_threads() : 1;
  const int64_t chunks = std::clamp<int64_t>(bytes / kMinBytesPerThread, 1, most);
  return chunks > num_threads() ? chunks - chunks % num_threads() : chunks;  // equal work for each thread
}

Range chunk_range(int64_t count, int64_t chunks, int64_t chunk, int64_t granularity) {
  const int64_t units = ceil_div(count, granularity);
  // The first `units % chunks` chunks own one more unit. No product can overflow.
  const int64_t each = units / chunks;
  const int64_t extra = units % chunks;
  const int64_t begin = (chunk * each + std::min(chunk, extra)) * granularity;
  const int64_t size = (each + (chunk < extra ? 1 : 0)) * granularity;
  return {std::min(begin, count), std::min(begin + size, count)};
}

}  // namespace openaclnn::cpu
