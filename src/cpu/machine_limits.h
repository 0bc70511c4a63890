// The memory and the CPUs that this process may use: those of the machine, limited by its control groups.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/device.h"

namespace openaclnn::cpu {

// Every function rereads the system's files, allocates nothing and never fails. `root` is prepended to all
// paths; it is "" except in tests.

// Returns the smallest of the machine's memory and the limits of the process's groups (memory.max,
// memory.limit_in_bytes), and the free part of it. Returns nullopt if neither can be read. Limits that only
// slow down a process (memory.high) are ignored.
std::optional<MemoryInfo> machine_memory(std::string_view root = "") noexcept;

// Returns the CPUs that the quotas of the process's groups allow, infinity without a quota, or nullopt if it
// cannot be read.
std::optional<double> cpu_quota(std::string_view root = "") noexcept;

// Returns the number of threads for such a quota: at least 1, at most `most`.
int threads_within(std::optional<double> quota, int most);

}  // namespace openaclnn::cpu
