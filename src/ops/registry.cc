// The table behind operators().
#include "ops/registry.h"

namespace openaclnn {

namespace {

const Operator* const kOperators[] = {
#define OPENACLNN_OPERATOR(folder, name) &folder##_operator(),
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
};

}  // namespace

std::span<const Operator* const> operators() { return kOperators; }

}  // namespace openaclnn
