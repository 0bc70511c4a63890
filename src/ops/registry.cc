// The table behind operators().
#include "ops/registry.h"

namespace openaclnn {

std::span<const Operator* const> operators() {
  static const Operator* const table[] = {
#define OPENACLNN_OPERATOR(folder, name) &folder##_operator(),
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  };
  return table;
}

}  // namespace openaclnn
