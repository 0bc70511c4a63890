// Locates the tensors of a call for its kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

// Returns the address of the first element of tensor `which` of a plan, for kernels that copy elements of
// unknown type. The plan has `offsets` in elements. If its tensors are not the call's parameters one by one,
// it also has their `parameters`. The tensor must not be NULL. Io: what the device passes to its kernels,
// with the addresses of the parameters.
template <class Plan, class Io>
OPENACLNN_HOST_INLINE char* plan_tensor_bytes(const Plan& plan, const Io& io, size_t which,
                                              int64_t element_bytes) {
  size_t parameter = which;
  if constexpr (requires { plan.parameters[which]; }) parameter = static_cast<size_t>(plan.parameters[which]);
  return static_cast<char*>(io.data[parameter]) + plan.offsets[which] * element_bytes;
}

// Returns the first element of tensor `which` of a plan.
template <class T, class Plan, class Io>
OPENACLNN_HOST_INLINE T* plan_tensor(const Plan& plan, const Io& io, size_t which) {
  return reinterpret_cast<T*>(plan_tensor_bytes(plan, io, which, static_cast<int64_t>(sizeof(T))));
}

}  // namespace openaclnn
