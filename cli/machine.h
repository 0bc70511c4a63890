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
int affinity_cpus();  // that this process may use
std::vector<Cache> caches();

// Bytes read and written per second by `threads` threads that copy memory far beyond the caches for about `seconds`.
double copy_bandwidth(int threads, double seconds);

// Whether a driver of NVIDIA is loaded.
bool has_nvidia_driver();

}  // namespace openaclnn_cli
