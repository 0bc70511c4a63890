// NsaCompress: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include "ops/nsa/compress/tests/schema.h"
#include "ops/nsa/tests/windows_trials.h"
#include "support/expect.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_schema;

WindowsForm form() { return {compress_test(), kOutput, {kInput}, {kWeight}, "layoutOptional", 900}; }

std::vector<Trial> trials() {
  std::vector<Trial> all = windows_trials(form());
  // Without windows output may have any strides.
  for (const int64_t tokens : {0, 1, 31}) {
    const auto sizes = with_sizes(form(), {{32, 16, 0}, tokens, 2, 16, 0, {tokens}});
    all.push_back(needs_nothing("no window", [sizes](CallArguments& a) {
      sizes(a);
      a.tensors[kOutput].strides = {0, 0, 0};
    }));
  }
  // Without lengths, shapes alone may imply only a limited number of sequences.
  for (const int64_t batches : {int64_t{1} << 21, int64_t{1} << 50}) {
    all.push_back(refuses("too many batches",
                          [batches](CallArguments& a) {
                            a.tensors[kInput].dims = {32 * batches, 2, 16};
                            a.tensors[kOutput].dims = {batches, 2, 16};
                            a.array->handle = Handle::null;
                          },
                          {"(up to 1048576) has " + std::to_string(batches)}));
  }
  return all;
}

// In the order of the list of limits.
std::vector<Mistake> vendor_mistakes() {
  const WindowsForm of = form();
  std::vector<Mistake> list = windows_limits(of);
  const std::vector<int64_t> two = {48, 96};
  list.push_back(
      limit_of(of, "no empty tensor", {{32, 16, 0}, 0, 2, 16, 0, {0}}, "input has shape [0, 2, 16]"));
  list.push_back(limit_of(of, "N <= 128", {{32, 16, 0}, 96, 129, 16, 4, two}, "dim 1 of input is 129"));
  list.push_back(
      limit_of(of, "L <= 128", {{144, 16, 0}, 288, 2, 16, 2, {144, 288}}, "compressBlockSize is 144"));
  list.push_back(limit_of(of, "D <= 256", {{32, 16, 0}, 96, 2, 272, 4, two}, "dim 2 of input is 272"));
  const auto add = [&](const char* what, std::vector<Part> parts, int64_t windows,
                       std::function<void(CallArguments&)> change, const char* sentence) {
    parts.push_back({Part::dims, kOutput});
    list.push_back(bad_call(kLimitRule, what, parts,
                            [=](CallArguments& a) {
                              a.tensors[kOutput].dims = {windows, 2, 16};
                              change(a);
                            },
                            {sentence}));
  };
  add(
      "lengths not NULL", {{Part::array_handle, 0}, {Part::array, 0}}, 5,
      [](CallArguments& a) { a.array->handle = Handle::null; },
      "actSeqLenOptional is NULL; OPENACLNN_LIMITS=vendor requires at least one sequence");
  add(
      "lengths not empty", {{Part::array, 0}}, 5, [](CallArguments& a) { a.array->values.clear(); },
      "actSeqLenOptional is empty; OPENACLNN_LIMITS=vendor requires at least one sequence");
  add(
      "total length = T", {{Part::array, 0}}, 3,
      [](CallArguments& a) {
        a.array->values = {48, 95};
      },
      "actSeqLenOptional[1] = 95 but input has 96 tokens; OPENACLNN_LIMITS=vendor requires every token");
  return list;
}

std::vector<Refusals> refusals() {
  const Schema schema = compress_test();
  Refusals basic = {
      .name = "Default", .schema = schema, .least_pairs = 900, .needs_workspace = true, .trials = trials()};
  for (const size_t k : {kWeight, kOutput}) basic.dtypes.push_back({{k}, {ACL_FLOAT16}});
  append(basic.trials, accepted_mistakes(vendor_mistakes()));
  Refusals vendor = {.name = "Vendor",
                     .schema = with_mistakes(schema, vendor_mistakes()),
                     .least_pairs = 1200,
                     .trials = limits_in_their_order(form()),
                     .environment = kVendorLimits};
  // The largest sizes that are within the limits.
  vendor.trials.push_back(
      accepts("the limits", with_sizes(form(), {{128, 128, 0}, 256, 128, 256, 2, {128, 256}})));
  return {basic, strict_windows(form()), vendor};
}
INSTANTIATE_TEST_SUITE_P(NsaCompress, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

// Weights too large for any workspace.
TEST(NsaCompressPhase1, ExtremeSizes) {
  const Schema test = compress_test();
  const int64_t huge = int64_t{1} << 61;
  CallArguments endless = test.valid;
  endless.tensors[kInput].dims = {huge, 1, 1};
  endless.tensors[kInput].strides = {0, 0, 0};
  endless.tensors[kWeight].dims = {huge, 1};
  endless.tensors[kWeight].strides = {0, 0};
  endless.tensors[kOutput].dims = {1, 1, 1};
  endless.array->handle = Handle::null;
  endless.numbers = {huge, INT64_MAX, 0};
  EXPECT_TRUE(failed_in_phase1(test.run(endless), test.function, 561101, {"Failed to allocate"}));
}

}  // namespace
}  // namespace openaclnn_test
