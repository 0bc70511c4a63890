// Distribution of chunks over the pool, and how many threads there are.
#include "cpu/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/checked.h"
#include "base/env.h"
#include "cpu/fp_environment.h"
#include "cpu/pool.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace openaclnn::cpu {

namespace {

int affinity_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// CPUs that the cgroup's quota allows, or `unlimited`. Version 2 has one file with both numbers, version 1 has two.
int quota_threads(int unlimited) {
  double quota = -1;
  double period = 0;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    if (std::fscanf(file, "%lf %lf", &quota, &period) != 2) quota = -1;  // "max": no limit
    std::fclose(file);
  } else {
    const auto read = [](const char* path, double& value) {
      if (std::FILE* number = std::fopen(path, "re")) {
        if (std::fscanf(number, "%lf", &value) != 1) value = -1;
        std::fclose(number);
      }
    };
    read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
    read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period);
  }
  if (quota <= 0 || period <= 0) return unlimited;
  return std::clamp(static_cast<int>(quota / period + 0.999), 1, unlimited);
}

std::atomic<bool> abandoned{false};

struct Job {
  std::atomic<int64_t> next{0};
  std::atomic<int> finished{0};
  int64_t chunks;
  void (*body)(void*, int64_t);
  void* context;
};

// The pool orders what the submitter wrote before what its helpers read. Thread sanitizer cannot see that, because libtbb.so
// is not instrumented; these two tell it.
void hand_over([[maybe_unused]] Job& job) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(&job);
#endif
}
void take_over([[maybe_unused]] Job& job) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(&job);
#endif
}

void work(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  take_over(job);
  const ScopedFpEnvironment fp_environment;
  while (true) {
    const int64_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= job.chunks) break;
    job.body(job.context, chunk);
  }
  job.finished.fetch_add(1, std::memory_order_release);
}

}  // namespace

int num_threads() {
  static const int count = [] {
    constexpr int kMostThreads = 1024;  // of any use; a typing error must not ask the system for millions
    if (environment().num_threads > 0) return std::min(environment().num_threads, kMostThreads);
    const int allowed = affinity_threads();
    return std::min(allowed, quota_threads(allowed));
  }();
  return count;
}

Pool* pool() {
  if (abandoned.load(std::memory_order_acquire)) return nullptr;
  // Never destroyed: static destructors of the caller may still run operators.
  static Pool* const made = make_tbb_pool(num_threads());
  return made;
}

void abandon_pool() { abandoned.store(true, std::memory_order_release); }

void run_chunks(int64_t chunks, void (*body)(void* context, int64_t chunk), void* context) {
  Job job;
  job.chunks = chunks;
  job.body = body;
  job.context = context;
  hand_over(job);
  const int threads = static_cast<int>(std::min<int64_t>(chunks, num_threads()));
  Pool* const helpers = threads > 1 ? pool() : nullptr;
  if (helpers != nullptr) {
    helpers->run(threads, work, &job);
  } else {
    work(&job);
  }
  (void)job.finished.load(std::memory_order_acquire);  // what the helpers wrote is visible from here on
}

int64_t chunks_for(int64_t bytes) {
  constexpr int64_t kChunksPerThread = 4;
  const int64_t most = num_threads() > 1 ? kChunksPerThread * num_threads() : 1;
  return std::clamp<int64_t>(bytes / kMinBytesPerThread, 1, most);
}

Range chunk_range(int64_t count, int64_t chunks, int64_t chunk, int64_t granularity) {
  const int64_t units = ceil_div(count, granularity);
  // The first `units % chunks` chunks own one unit more; no product can overflow.
  const int64_t each = units / chunks;
  const int64_t extra = units % chunks;
  const int64_t begin = (chunk * each + std::min(chunk, extra)) * granularity;
  const int64_t size = (each + (chunk < extra ? 1 : 0)) * granularity;
  return {std::min(begin, count), std::min(begin + size, count)};
}

}  // namespace openaclnn::cpu
