// What this process holds at the moment, as the kernel counts it: memory, threads, descriptors.
#pragma once

#include <cstdint>

namespace openaclnn_test {

struct ProcessUsage {
  int64_t rss_kib = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;

  static ProcessUsage now();
  // The smaller one of each. Over a stretch of time that is what is never given back, without what comes and goes: blocks that
  // wait for their tasks, and /proc/meminfo, which an allocation that fails reads for its sentence.
  ProcessUsage least(const ProcessUsage& other) const;
};

}  // namespace openaclnn_test
