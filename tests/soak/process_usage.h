// The resources that this process holds, as the kernel counts them: memory, threads, descriptors.
#pragma once

#include <cstdint>

namespace openaclnn_test {

struct ProcessUsage {
  int64_t rss_kib = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;

  static ProcessUsage now();
  // Returns the smaller one of each. Over a period this is the memory that is never released, without
  // temporary parts: blocks that wait for their tasks, and /proc/meminfo, which a failed allocation reads
  // for its error message.
  ProcessUsage least(const ProcessUsage& other) const;
};

}  // namespace openaclnn_test
