// The cases of every operator in ops.def, for tests that hold for all of them.
#pragma once

#include <string>
#include <vector>

#include "support/case.h"

namespace openaclnn_test {

#define OPENACLNN_OPERATOR(folder, name) std::vector<Case> cases_of_##folder();
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

inline std::vector<Case> all_cases() {
  std::vector<Case> all;
#define OPENACLNN_OPERATOR(folder, name) \
  for (const Case& c : cases_of_##folder()) all.push_back(c);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return all;
}

inline std::vector<std::string> operator_names() {
  std::vector<std::string> names;
#define OPENACLNN_OPERATOR(folder, name) names.push_back(#name);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return names;
}

}  // namespace openaclnn_test
