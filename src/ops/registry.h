// All operators of the library, from ops.def.
#pragma once

#include <span>

#include "runtime/executor.h"

namespace openaclnn {

#define OPENACLNN_OPERATOR(folder, name) const Operator& folder##_operator();
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

std::span<const Operator* const> operators();

}  // namespace openaclnn
