// The schemas of every operator in ops.def, one for each function and form of its call.
#pragma once

#include <vector>

#include "support/phase1_mistakes.h"

namespace openaclnn_test {

#define OPENACLNN_OPERATOR(folder, name) std::vector<Schema> schemas_of_##folder();
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

inline std::vector<Schema> all_schemas() {
  std::vector<Schema> all;
#define OPENACLNN_OPERATOR(folder, name) \
  for (Schema & schema : schemas_of_##folder()) all.push_back(std::move(schema));
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return all;
}

}  // namespace openaclnn_test
