// The table of storage types.
#include "precision.h"

#include <fmt/core.h>

#include "errors.h"

namespace train {
namespace {

constexpr Precision kPrecisions[] = {
    {"f32", ACL_FLOAT, 1, 0.999, 0.999, 1e-8, 1e-5},
    {"bf16", ACL_BF16, 1, 0.98, 0.9, 1e-8, 1e-2},
    {"fp16", ACL_FLOAT16, 512, 0.99, 0.99, 1e-3, 2e-3},
};

}  // namespace

const Precision& precision_named(const std::string& name) {
  for (const Precision& precision : kPrecisions)
    if (precision.name == name) return precision;
  throw InputError(fmt::format("--dtype: '{}' is not a storage type; f32, bf16 and fp16 are", name));
}

}  // namespace train
