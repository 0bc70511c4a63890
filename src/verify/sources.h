// Which inputs produce an element of a result, and which results typical faults of kernels give. Every room
// has its own in verify/sources.h and verify/faults.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/golden.h"

namespace openaclnn_verify {

// One element of a result.
struct Place {
  std::string parameter;  // "weightGradOut"
  size_t list_index = 0;  // in a list of tensors
  int64_t element = 0;    // in row-major order
};

// A term of a sum: one * other.
struct Term {
  double one = 0, other = 1;
};

struct ElementSources {
  std::vector<std::string> lines;  // "gradY[12:20, 7] = 0.5, -1.25, ... (8 values)"
  // The terms of a result that is a sum, in their order. `is_sum` without terms is an empty sum.
  bool is_sum = false;
  std::vector<Term> terms;
  double divisor = 1;  // of the sum
};
using FindSources = std::function<ElementSources(const Place&)>;

// The result of a kernel with a fault, for one element.
struct FaultyValue {
  double value = 0;
  double bound = 0;  // how far a careful kernel with this fault may be away, beyond half an ulp
};

// A fault that a kernel of this operator may have.
struct Fault {
  std::string name;  // "missing-bias-correction"
  std::string text;  // for the user: what the numbers show, and what to change
  // Returns nothing if the fault determines no number for the element.
  std::function<std::optional<FaultyValue>(const Place&)> value;
};

// The arguments must be consistent, as a golden requires. `call` must outlive the results.
#define OPENACLNN_OPERATOR(folder, name)                   \
  FindSources sources_of_##folder(const GoldenCall& call); \
  std::vector<Fault> faults_of_##folder(const GoldenCall& call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

}  // namespace openaclnn_verify
