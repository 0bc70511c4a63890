// How much memory and how many CPUs this process may use: what the machine has, or what its control groups leave of it.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/device.h"

namespace openaclnn::cpu {

// Every function reads the files of the system anew, allocates nothing and never fails. `root` stands before the paths of all files:
// "" except in tests.

// The smallest of the machine's memory and the limits of the process's groups (memory.max, memory.limit_in_bytes), and what is left of
// it; nullopt where neither can be read. A limit that only slows a process down (memory.high) does not count.
std::optional<MemoryInfo> machine_memory(std::string_view root = "") noexcept;

// CPUs that the quotas of the process's groups allow, infinity without one; nullopt where that cannot be read.
std::optional<double> cpu_quota(std::string_view root = "") noexcept;

// The threads that such a quota is worth: at least 1, at most `most`.
int threads_within(std::optional<double> quota, int most);

}  // namespace openaclnn::cpu
