// What this process holds at the moment, as the kernel counts it: memory, threads, descriptors.
#pragma once

#include <cstdint>

namespace openaclnn_test {

struct ProcessUsage {
  int64_t rss_kib = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;

  static ProcessUsage now();
  // What a stretch of time held: the most memory and threads, and the fewest descriptors, since an allocation that fails reads
  // /proc/meminfo for its sentence and closes it again.
  ProcessUsage joined(const ProcessUsage& other) const;
};

}  // namespace openaclnn_test
