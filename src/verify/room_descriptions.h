// The descriptions of every function of the operators in ops.def.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "verify/description.h"

namespace openaclnn_verify {

#define OPENACLNN_OPERATOR(room, name) std::vector<Description> descriptions_of_##room();
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

inline std::span<const Description> descriptions() {
  static const std::vector<Description> all = [] {
    std::vector<Description> made;
#define OPENACLNN_OPERATOR(room, name) \
  for (Description & description : descriptions_of_##room()) made.push_back(std::move(description));
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
    return made;
  }();
  return all;
}

// Finds a description by "aclnnEmbedding" or "aclnnEmbeddingGetWorkspaceSize"; nullptr if there is none.
inline const Description* find_description(std::string_view function) {
  constexpr std::string_view kPhase1 = "GetWorkspaceSize";
  if (function.ends_with(kPhase1)) function.remove_suffix(kPhase1.size());
  for (const Description& description : descriptions()) {
    if (description.function == function) return &description;
  }
  return nullptr;
}

}  // namespace openaclnn_verify
