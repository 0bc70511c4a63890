// NsaCompressWithCache: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include "ops/nsa/compress_with_cache/tests/schema.h"
#include "ops/nsa/tests/windows_trials.h"
#include "support/expect.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_with_cache_schema;

const Schema kPaged = cache_test(true);
const Schema kPacked = cache_test(false);

std::function<void(CallArguments&)> with_lengths(const std::vector<int64_t>& lengths) {
  return [lengths](CallArguments& a) { a.array->values = lengths; };
}
std::function<void(CallArguments&)> with_page_tokens(int64_t tokens) {
  return [tokens](CallArguments& a) { a.numbers[kPageTokens] = tokens; };
}

std::vector<Trial> paged_trials() {
  std::vector<Trial> all = wrong_windows(kPaged, {-1, 0, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1});
  append(all, wrong_numbers(kPaged, kPageTokens, {-1, 0, 1, 63, 65, (int64_t{1} << 32) + 64}));
  append(all, wrong_layouts());
  all.push_back(accepts("layout NULL", [](CallArguments& a) { a.layout.reset(); }));
  for (const char* known : {"TND", "BSH", "SBH", "BSND", "BNSD"})
    all.push_back(accepts(known, with_layout(known)));
  for (const auto& lengths : {std::vector<int64_t>{0, 0}, {192, 192}, {31, 32}, {0, 192}})
    all.push_back(accepts("lengths " + list_text(lengths), with_lengths(lengths)));
  // Without sequences the array may be NULL.
  for (const Handle handle : {Handle::live, Handle::null}) {
    all.push_back(needs_nothing("no sequence", [handle](CallArguments& a) {
      a.tensors[kSlots].dims = {0};
      a.tensors[kTable].dims = {0, 3};
      a.array->handle = handle;
      a.array->values.clear();
    }));
  }
  all.push_back(accepts("a table for more tokens than 64 bits count", [](CallArguments& a) {
    a.tensors[kTable].dims = {2, int64_t{1} << 57};
    a.tensors[kTable].strides = {0, 0};
    a.array->values = {INT64_MAX, 48};
    a.numbers[kStride] = INT64_MAX;
  }));
  return all;
}

std::vector<Trial> packed_trials() {
  std::vector<Trial> all;
  for (const auto& lengths : {std::vector<int64_t>{0, 0}, {160, 0}, {0, 160}, {80, 80}})
    all.push_back(accepts("lengths " + list_text(lengths), with_lengths(lengths)));
  // Without pages pageBlockSize is ignored.
  for (const int64_t tokens : {INT64_MIN, int64_t{-1}, int64_t{1}, int64_t{64}, INT64_MAX})
    all.push_back(accepts("pageBlockSize " + std::to_string(tokens), with_page_tokens(tokens)));
  return all;
}

// In the order of the list of limits.
std::vector<Mistake> vendor_mistakes() {
  struct Sizes {
    const char* rule;
    std::vector<int64_t> numbers;
    int64_t pages, heads, columns, slots;
    const char* sentence;
  };
  std::vector<Mistake> list;
  list.push_back(
      bad_call(kLimitRule, "FLOAT16, BF16 only",
               {{Part::dtype, kInput}, {Part::dtype, kWeight}, {Part::dtype, kCache}},
               [](CallArguments& a) {
                 for (const size_t k : {kInput, kWeight, kCache}) a.tensors[k].dtype = ACL_FLOAT;
               },
               {"input has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16"}));
  for (const Sizes& sizes :
       {Sizes{"L a multiple of 16", {24, 16, 1, 64}, 6, 2, 16, 30, "compressBlockSize is 24"},
        {"d a multiple of 16", {32, 8, 1, 64}, 6, 2, 16, 60, "compressStride is 8"},
        {"D a multiple of 16", {32, 16, 1, 64}, 6, 2, 24, 30, "the last dim of input is 24"},
        {"L >= d", {32, 48, 1, 64}, 6, 2, 16, 30, "compressBlockSize is 32 and compressStride is 48"},
        {"L < 128", {128, 16, 1, 64}, 6, 2, 16, 30, "compressBlockSize is 128 and compressStride is 16"},
        {"N <= 64", {32, 16, 1, 64}, 6, 65, 16, 30, "input has shape [6, 64, 65, 16]"},
        {"D <= 256", {32, 16, 1, 64}, 6, 2, 272, 30, "input has shape [6, 64, 2, 272]"},
        {"pages of 64 or 128", {32, 16, 1, 96}, 3, 2, 16, 30, "pageBlockSize is 96"},
        {"slots for all blocks",
         {32, 16, 1, 64},
         6,
         2,
         16,
         22,
         "outputCache has 22 slots; OPENACLNN_LIMITS=vendor requires more than 22"},
        {"no empty tensor", {32, 16, 1, 64}, 0, 2, 16, 30, "input has shape [0, 64, 2, 16]"}}) {
    list.push_back(bad_call(kLimitRule, sizes.rule,
                            {{Part::number, kBlockSize},
                             {Part::number, kStride},
                             {Part::number, kPageTokens},
                             {Part::dims, kInput},
                             {Part::dims, kWeight},
                             {Part::dims, kTable},
                             {Part::dims, kCache},
                             {Part::array, 0}},
                            [sizes](CallArguments& a) {
                              a.numbers = sizes.numbers;
                              const int64_t tokens = sizes.numbers[kPageTokens];
                              a.tensors[kInput].dims = {sizes.pages, tokens, sizes.heads, sizes.columns};
                              a.tensors[kWeight].dims = {sizes.numbers[kBlockSize], sizes.heads};
                              a.tensors[kCache].dims = {sizes.slots, sizes.heads, sizes.columns};
                            },
                            {sizes.sentence, "OPENACLNN_LIMITS=vendor "}));
  }
  return list;
}

// The largest sizes that are within the limits.
void set_largest(CallArguments& a) {
  a.numbers = {112, 112, 1, 128};
  a.tensors[kInput].dims = {6, 128, 64, 256};
  a.tensors[kWeight].dims = {112, 64};
  a.tensors[kCache].dims = {6, 64, 256};
}

std::vector<Refusals> refusals() {
  Refusals paged = {.name = "Paged",
                    .schema = kPaged,
                    .least_pairs = 1500,
                    .needs_workspace = true,
                    .trials = paged_trials()};
  for (const size_t k : {kWeight, kCache}) paged.dtypes.push_back({{k}, {ACL_FLOAT16}});
  append(paged.trials, accepted_mistakes(vendor_mistakes()));
  const Refusals packed = {.name = "Packed",
                           .schema = kPacked,
                           .least_pairs = 900,
                           .needs_workspace = true,
                           .trials = packed_trials()};
  const Refusals vendor = {.name = "Vendor",
                           .schema = with_mistakes(kPaged, vendor_mistakes()),
                           .least_pairs = 1500,
                           .trials = {accepts("the limits", set_largest)},
                           .environment = kVendorLimits};
  // Without pages there is no limit.
  const Refusals packed_vendor = {
      .name = "PackedVendor", .schema = kPacked, .least_pairs = 900, .environment = kVendorLimits};
  return {paged, packed, vendor, packed_vendor};
}
INSTANTIATE_TEST_SUITE_P(NsaWithCache, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

// Weights too large for any workspace.
TEST(NsaWithCachePhase1, ExtremeSizes) {
  const int64_t huge = int64_t{1} << 61;
  CallArguments endless = kPacked.valid;
  std::vector<TensorArgument>& t = endless.tensors;
  t[kInput].dims = {huge, 1, 1};
  t[kInput].strides = {0, 0, 0};
  t[kWeight].dims = {huge, 1};
  t[kWeight].strides = {0, 0};
  t[kCache].dims = {30, 1, 1};
  endless.numbers[kBlockSize] = huge;
  endless.array->values = {huge, 0};
  const Outcome outcome = kPacked.run(endless);
  // A GPU reads weights in place.
  if (outcome.phase1 != 0) {
    EXPECT_TRUE(failed_in_phase1(outcome, kPacked.function, 561101, {"Failed to allocate"}));
  }
}

}  // namespace
}  // namespace openaclnn_test
