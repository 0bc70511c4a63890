// Arguments of check() and plan(), for tests behind the C API.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/contract.h"

namespace openaclnn_test {

// A contiguous tensor; by default a vector of one element.
inline openaclnn::Argument argument(const char* name, aclDataType dtype,
                                    const std::vector<int64_t>& dims = {1}) {
  openaclnn::Argument made;
  made.name = name;
  made.is_given = true;
  made.rank = static_cast<uint32_t>(dims.size());
  made.view.dtype = dtype;
  made.view.rank = static_cast<int>(dims.size());
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    made.view.dims[k] = dims[k];
    made.view.strides[k] = stride;
    stride *= dims[k];
  }
  made.facts = openaclnn::facts_of(made.view);
  return made;
}

}  // namespace openaclnn_test
