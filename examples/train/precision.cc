// The table of storage types.
#include "precision.h"

#include <fmt/core.h>

#include "errors.h"

namespace train {

const std::vector<Precision>& precisions() {
  static const std::vector<Precision> all = {
      {"f32", ACL_FLOAT, 1, 4e-3, 0.999, 0.999, 1e-8, 1e-5},
      {"bf16", ACL_BF16, 1, 4e-3, 0.98, 0.9, 1e-8, 1e-2},
      {"fp16", ACL_FLOAT16, 512, 4e-3, 0.99, 0.99, 1e-3, 2e-3},
  };
  return all;
}

const Precision& precision_named(const std::string& name) {
  for (const Precision& precision : precisions())
    if (precision.name == name) return precision;
  throw InputError(fmt::format("--dtype: '{}' is not a storage type; f32, bf16 and fp16 are", name));
}

}  // namespace train
