// ApplyFusedEmaAdam: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "ops/apply_fused_ema_adam/tests/schema.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace apply_fused_ema_adam_schema;

std::vector<Refusals> refusals() {
  const Schema schema = ema_test();
  std::vector<Part> all_dims;
  for (size_t k = kGrad; k < kStep; ++k) all_dims.push_back({Part::dims, k});
  const std::vector<Mistake> limits = {bad_call(kLimitRule, "rank >= 1", all_dims,
                                                [](CallArguments& a) {
                                                  for (size_t k = kGrad; k < kStep; ++k)
                                                    a.tensors[k].dims.clear();
                                                },
                                                {"grad has rank 0", "OPENACLNN_LIMITS=vendor"})};
  Refusals all = {.name = "Default",
                  .schema = schema,
                  .least_pairs = 2000,
                  .trials = wrong_numbers(schema, kMode, {-1, 2, int64_t{1} << 32})};
  append(all.trials, accepted_mistakes(limits));
  // Empty tensors have no elements that could overlap.
  all.trials.push_back(needs_nothing("empty tensors", [](CallArguments& a) {
    for (size_t k = kGrad; k < kStep; ++k) {
      a.tensors[k].dims = {4, 0};
      a.tensors[k].strides = {0, 0};
    }
  }));
  const Refusals vendor = {.name = "Vendor",
                           .schema = with_mistakes(schema, limits),
                           .least_pairs = 2000,
                           .environment = kVendorLimits};
  return {all, vendor};
}
INSTANTIATE_TEST_SUITE_P(EmaAdam, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

}  // namespace
}  // namespace openaclnn_test
