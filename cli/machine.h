// Describes the machine from system files, without the library.
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
std::vector<Cache> caches();

// Returns bytes read and written per second by `threads` threads that copy memory much larger than the caches
// for about `seconds`.
double copy_bandwidth(int threads, double seconds);

// Returns whether an NVIDIA driver is loaded.
bool has_nvidia_driver();

}  // namespace openaclnn_cli
