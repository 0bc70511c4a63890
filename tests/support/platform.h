// On which platform the tests of this process run: what is said of the CPU's workspaces does not hold for others.
#pragma once

#include <cstdlib>
#include <string_view>

namespace openaclnn_test {

inline bool on_cpu() {
  const char* const device = std::getenv("OPENACLNN_DEVICE");
  return device == nullptr || std::string_view(device) != "cuda";
}

}  // namespace openaclnn_test
