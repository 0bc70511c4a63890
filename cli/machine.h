// What the machine is: read from the system, without the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct Cache {
  std::string name;  // "L1d", "L2", "L3"
  int64_t bytes;
};

std::string cpu_model();
int affinity_cpus();         // that this process may use
std::string cgroup_quota();  // "2 CPUs", "none"
std::vector<Cache> caches();
std::string memory_text();  // "3.2 GiB of 8.0 GiB available"

// Bytes read and written per second by `threads` threads that copy memory far beyond the caches for about `seconds`.
double copy_bandwidth(int threads, double seconds);

// Whether a driver of NVIDIA is loaded.
bool has_nvidia_driver();

}  // namespace openaclnn_cli
