// The cases of all operators in ops.def, for tests that apply to all of them.
#pragma once

#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/draw.h"

namespace openaclnn_verify {

#define OPENACLNN_OPERATOR(folder, name)                          \
  std::vector<Case> cases_of_##folder();                          \
  Case random_case_of_##folder(Draw& draw, int64_t elements);     \
  std::vector<Case> numerics_cases_of_##folder(int64_t elements); \
  JudgeResults recorded_judge_of_##folder(const RecordedCall& call);
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

// Returns the cases of one operator with at least `elements` results per dtype, for measuring errors.
inline std::vector<Case> numerics_cases(const std::string& operator_name, int64_t elements) {
#define OPENACLNN_OPERATOR(folder, name) \
  if (operator_name == #name) return numerics_cases_of_##folder(elements);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return {};
}

// How a room creates a random case, with at most about `elements` elements.
struct RandomCases {
  const char* operator_name;
  Case (*make)(Draw& draw, int64_t elements);
};
inline constexpr RandomCases kRandomCases[] = {
#define OPENACLNN_OPERATOR(folder, name) {#name, random_case_of_##folder},
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
};

inline std::vector<std::string> operator_names() {
  std::vector<std::string> names;
#define OPENACLNN_OPERATOR(folder, name) names.push_back(#name);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return names;
}

}  // namespace openaclnn_verify
