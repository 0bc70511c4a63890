// The CPUs of a process, for the library, the program and the benchmark.
#pragma once

#include <sched.h>

#include <array>

namespace openaclnn {

// Returns how many CPUs the affinity mask of the calling thread has, or 0 if it can't be read. Linux has at most
// 8,192 CPUs, and rejects a set that is smaller than the machine's.
inline int affinity_cpus() {
  std::array<cpu_set_t, 8192 / CPU_SETSIZE> sets;
  return sched_getaffinity(0, sizeof sets, sets.data()) == 0 ? CPU_COUNT_S(sizeof sets, sets.data()) : 0;
}

}  // namespace openaclnn
