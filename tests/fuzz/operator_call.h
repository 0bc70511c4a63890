// One call of an operator with ordinary, extreme or hostile data, and its expected results; each room makes
// it (fuzz.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/found.h"
#include "fuzz/memory.h"

namespace openaclnn_test {

// The input from which a run makes its call.
struct Fuzz {
  Input& in;
  Memory& memory;

  FuzzTensor input(aclDataType dtype, const Shape& dims) {
    return memory.tensor(in, Role::input, dtype, dims);
  }
  FuzzTensor output(aclDataType dtype, const Shape& dims) {
    return memory.tensor(in, Role::output, dtype, dims);
  }
  FuzzTensor reference(aclDataType dtype, const Shape& dims) {
    return memory.tensor(in, Role::reference, dtype, dims);
  }
  FuzzData data() { return static_cast<FuzzData>(in.below(static_cast<int64_t>(FuzzData::kinds))); }
  aclDataType float_dtype() { return in.pick({ACL_FLOAT, ACL_FLOAT16, ACL_BF16}); }
};

struct OperatorCall {
  std::vector<FuzzTensor> tensors;  // in the order of the signature
  Phase1 phase1;
  Phase2 phase2 = nullptr;
  // The elements of each written tensor, in row-major order, by its number. A tensor without them keeps its
  // bytes.
  std::vector<std::vector<std::byte>> wanted = {};
  std::string fault = {};            // a fault of the data, as its error message names it; empty: none
  bool writes_despite_fault = true;  // never in strict mode
  // Elements without prescribed bits: returns their error, or nothing.
  std::function<std::string()> judge = {};
  size_t judged = SIZE_MAX;  // the tensor that only the judge checks
};

inline void add_bits(std::vector<std::byte>& bytes, uint64_t bits, int64_t count) {
  for (int64_t k = 0; k < count; ++k) bytes.push_back(static_cast<std::byte>(bits >> (8 * k)));
}

// Runs the call and compares everything that is promised.
void run_and_compare(const OperatorCall& call, Memory& memory);

}  // namespace openaclnn_test
