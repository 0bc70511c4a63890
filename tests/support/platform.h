// The platform of this process's tests: facts about the CPU's workspaces do not apply to others.
#pragma once

#include <cstdlib>
#include <string_view>

namespace openaclnn_test {

inline bool on_cpu() {
  const char* const device = std::getenv("OPENACLNN_DEVICE");
  return device == nullptr || std::string_view(device) != "cuda";
}

}  // namespace openaclnn_test
