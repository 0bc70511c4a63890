// The golden of a named or random case.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "verify/golden.h"

namespace openaclnn_verify {

inline Golden golden_of(const std::string& operator_name, const GoldenCall& call) {
#define OPENACLNN_OPERATOR(folder, name) \
  if (operator_name == #name) return golden_of_##folder(call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  throw std::logic_error(operator_name);
}

inline GoldenCall golden_call(const Case& c, const std::vector<HostTensor>& before, int threads) {
  GoldenCall call = {c.recorded(), {}, threads};
  for (size_t k = 0; k < before.size(); ++k) {
    const HostTensor& tensor = before[k];
    call.tensors.push_back(c.tensors[k].role == Role::output
                               ? Array{tensor.dtype(), tensor.dims(), nullptr}
                               : owned_array(tensor.dtype(), tensor.dims(), tensor.all_bytes()));
  }
  return call;
}

}  // namespace openaclnn_verify
