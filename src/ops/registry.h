// All operators of the library, from ops.def.
#pragma once

#include <span>

#include "runtime/call.h"

namespace openaclnn {

// For each room: its operator, and its CPU kernel for the instruction set of this process.
#define OPENACLNN_OPERATOR(room, name) \
  const Operator& room##_operator();   \
  RunFunction room##_kernel();
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

std::span<const Operator* const> operators();

}  // namespace openaclnn
