// The table of find_launch(), from ops.def. Compiled into the plugin.
#include "cuda/launches.h"

#include <string_view>

#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

struct Entry {
  std::string_view name;
  LaunchFunction launch;
};

constexpr Entry kLaunches[] = {
#define OPENACLNN_OPERATOR(folder, name) {#name, launch_##folder},
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
};

}  // namespace

LaunchFunction find_launch(const char* operator_name) {
  // "aclnn…", or "openaclnn…" for extensions.
  std::string_view name = operator_name;
  const size_t prefix = name.find("aclnn");
  if (prefix == std::string_view::npos) return nullptr;
  name.remove_prefix(prefix + std::string_view("aclnn").size());
  for (const Entry& entry : kLaunches) {
    if (entry.name == name) return entry.launch;
  }
  return nullptr;
}

}  // namespace openaclnn::cuda
