// Names of functions of the interface.
#pragma once

#include <string_view>

namespace openaclnn {

// "Embedding" for aclnnEmbedding, and "ApplyFusedEmaAdamList" for openaclnnApplyFusedEmaAdamList.
inline std::string_view without_aclnn(std::string_view name) {
  for (const std::string_view prefix : {"openaclnn", "aclnn"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

}  // namespace openaclnn
