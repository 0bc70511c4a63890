// NsaCompressGrad: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include <tuple>

#include "ops/nsa/compress_grad/tests/schema.h"
#include "ops/nsa/tests/windows_trials.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_grad_schema;

WindowsForm form() {
  return {grad_test(), kOutputGrad, {kInput, kInputGrad}, {kWeight, kWeightGrad}, "layoutOptionalOptional",
          2000};
}

std::vector<Trial> trials() {
  std::vector<Trial> all = windows_trials(form());
  // Without windows, tokens, heads or columns there is nothing to sum.
  for (const auto& [windows, tokens, heads, columns] :
       {std::tuple(0, 31, 2, 16), {0, 0, 2, 16}, {4, 96, 0, 16}, {4, 96, 2, 0}, {0, 31, 0, 0}}) {
    all.push_back(needs_nothing(
        "nothing to sum",
        with_sizes(form(), {{32, 16, 0}, tokens, heads, columns, windows, {tokens / 2, tokens}})));
  }
  // Without lengths and columns any shape is allowed. The search for batches ends soon, even for numbers
  // without a small divisor. It ends at 2^20 batches, unless they have no windows.
  const int64_t prime = (int64_t{1} << 61) - 1;
  for (const auto& [windows, tokens, is_accepted] : {std::tuple(int64_t{1} << 20, int64_t{1} << 25, true),
                                                     {int64_t{1} << 21, int64_t{1} << 26, false},
                                                     {int64_t{1} << 55, int64_t{1} << 61, false},
                                                     {prime / 3, prime, false},
                                                     {prime, prime, false},
                                                     {int64_t{0}, prime, true},
                                                     {(prime - 32) / 16 + 1, prime, true}}) {
    const auto sizes = with_sizes(form(), {{32, 16, 0}, tokens, 2, 0, windows, {}});
    const auto change = [sizes](CallArguments& a) {
      sizes(a);
      a.array->handle = Handle::null;
    };
    const std::string what = std::to_string(windows) + " windows";
    all.push_back(is_accepted ? accepts(what, change) : refuses(what, change, {}));
  }
  return all;
}

// In the order of the list of limits.
std::vector<Mistake> vendor_mistakes() {
  std::vector<Mistake> list = windows_limits(form());
  const auto add_empty = [&](int64_t heads, int64_t columns, const char* shape) {
    list.push_back(limit_of(form(), "no empty tensor", {{32, 16, 0}, 96, heads, columns, 4, {48, 96}},
                            std::string("outputGrad has shape ") + shape));
  };
  add_empty(0, 16, "[4, 0, 16]");
  add_empty(2, 0, "[4, 2, 0]");
  return list;
}

std::vector<Refusals> refusals() {
  const Schema schema = grad_test();
  Refusals basic = {
      .name = "Default", .schema = schema, .least_pairs = 2000, .needs_workspace = true, .trials = trials()};
  for (size_t k = kInput; k < kTensors; ++k) basic.dtypes.push_back({{k}, {ACL_FLOAT16}});
  append(basic.trials, accepted_mistakes(vendor_mistakes()));
  Refusals vendor = {.name = "Vendor",
                     .schema = with_mistakes(schema, vendor_mistakes()),
                     .least_pairs = 2200,
                     .trials = limits_in_their_order(form()),
                     .environment = kVendorLimits};
  // Limits of NsaCompress only: N, L, D, NULL lengths and a total below T.
  append(vendor.trials, length_trials(form(), {{false, 0, {}, 5}, {true, 0, {}, 5}, {true, 0, {48, 95}, 3}}));
  vendor.trials.push_back(accepts("limits of the forward operator",
                                  with_sizes(form(), {{144, 144, 0}, 288, 144, 272, 2, {144, 288}})));
  return {basic, strict_windows(form()), vendor};
}
INSTANTIATE_TEST_SUITE_P(NsaCompressGrad, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

}  // namespace
}  // namespace openaclnn_test
