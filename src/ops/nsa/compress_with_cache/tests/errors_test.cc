// NsaCompressWithCache: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/nsa/compress_with_cache/tests/schema.h"
#include "support/expect.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_with_cache_schema;

const Schema kPaged = cache_test(true);
const Schema kPacked = cache_test(false);

TEST(NsaWithCachePhase1, EveryFaultHasItsCodeAndSentence) {
  for (const Schema* test : {&kPaged, &kPacked}) {
    expect_every_fault_is_found(*test);
    EXPECT_GT(test->run(test->valid).workspace_bytes, 0u);
  }
}
TEST(NsaWithCachePhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(kPaged), 1500);
  EXPECT_GT(expect_first_of_two_faults_decides(kPacked), 900);
}
TEST(NsaWithCachePhase1, AcceptsExactlyTheListedDtypes) {
  const aclDataType of_input[] = {ACL_FLOAT16}, of_numbers[] = {ACL_INT32};
  expect_exactly_these_dtypes(kPaged, {kInput, kWeight, kCache}, kDtypes);
  for (const size_t tensor : {kWeight, kCache}) expect_exactly_these_dtypes(kPaged, {tensor}, of_input);
  for (const size_t tensor : {kSlots, kTable}) expect_exactly_these_dtypes(kPaged, {tensor}, of_numbers);
}
TEST(NsaWithCachePhase1, RefusesExtentsThatLeaveInt64) {
  expect_extents_within_int64(kPaged);
  expect_extents_within_int64(kPacked);
}
TEST(NsaWithCachePhase1, RefusesEveryOtherAttribute) {
  const auto says = [](const char* name) {
    return [name](int64_t value) { return name + (" is " + std::to_string(value)); };
  };
  expect_refused_numbers(kPaged, kLengthType, {-1, 0, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1},
                         says("actSeqLenType"));
  expect_refused_numbers(kPaged, kPageTokens, {-1, 0, 1, 63, 65, (int64_t{1} << 32) + 64},
                         says("pageBlockSize"));
  for (const int64_t value : {int64_t{0}, int64_t{-1}, -(int64_t{1} << 32) + 16, INT64_MIN}) {
    for (const auto& [number, name] :
         {std::pair(kBlockSize, "compressBlockSize"), {kStride, "compressStride"}}) {
      CallArguments arguments = kPaged.valid;
      arguments.numbers[number] = value;
      EXPECT_TRUE(failed_in_phase1(kPaged.run(arguments), kPhase1, kInvalid, {says(name)(value) + ";"}));
    }
  }
}
TEST(NsaWithCachePhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(kPaged); }
TEST(NsaWithCachePhase1, RefusesACacheThatOverlapsItselfButNotInputs) { expect_distinct_outputs(kPaged); }

// Without pages nothing is read of pageBlockSize.
TEST(NsaWithCachePhase1, IgnoresTheSizeOfPagesWithoutThem) {
  for (const int64_t tokens : {INT64_MIN, int64_t{-1}, int64_t{1}, int64_t{64}, INT64_MAX}) {
    CallArguments arguments = kPacked.valid;
    arguments.numbers[kPageTokens] = tokens;
    EXPECT_EQ(kPacked.run(arguments).phase1, 0) << tokens;
  }
}

// V7: the text is read in phase 1 only, NULL is accepted, and a sentence shows the start of any text without breaking its line.
TEST(NsaWithCachePhase1, ReadsTheLayoutText) {
  CallArguments arguments = kPaged.valid;
  arguments.layout.reset();
  EXPECT_EQ(kPaged.run(arguments).phase1, 0);
  for (const char* known : {"TND", "BSH", "SBH", "BSND", "BNSD"}) {
    arguments.layout = known;
    EXPECT_EQ(kPaged.run(arguments).phase1, 0) << known;
  }
  for (const std::string& text : {std::string("TN"), std::string("TNDX"), std::string("\n"),
                                  std::string("a\tb\x80\xFF"), std::string(5000, 'T')}) {
    arguments.layout = text;
    EXPECT_TRUE(
        failed_in_phase1(kPaged.run(arguments), kPhase1, kInvalid, {"layoutOptional is \"", "\"TND\""}));
  }
}

// V10
TEST(NsaWithCachePhase1, AcceptsEveryLengthThatFits) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{0, 0}, {192, 192}, {31, 32}, {0, 192}}) {
    CallArguments arguments = kPaged.valid;
    arguments.array->values = lengths;
    EXPECT_EQ(kPaged.run(arguments).phase1, 0) << testing::PrintToString(lengths);
  }
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{0, 0}, {160, 0}, {0, 160}, {80, 80}}) {
    CallArguments arguments = kPacked.valid;
    arguments.array->values = lengths;
    EXPECT_EQ(kPacked.run(arguments).phase1, 0) << testing::PrintToString(lengths);
  }
  // No sequence: the array may be missing.
  CallArguments none = kPaged.valid;
  none.tensors[kSlots].dims = {0};
  none.tensors[kTable].dims = {0, 3};
  for (const Handle handle : {Handle::live, Handle::null}) {
    none.array->handle = handle;
    none.array->values.clear();
    const Outcome outcome = kPaged.run(none);
    EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
}

// A table for more tokens than 64 bits count, and weights that no workspace can hold.
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
  // On a GPU weights are read where they are.
  if (outcome.phase1 != 0) {
    EXPECT_TRUE(failed_in_phase1(outcome, kPhase1, 561101, {"Failed to allocate"}));
  }

  CallArguments wide = kPaged.valid;
  const int64_t pages = int64_t{1} << 57;
  wide.tensors[kTable].dims = {2, pages};
  wide.tensors[kTable].strides = {0, 0};
  wide.array->values = {INT64_MAX, 48};
  wide.numbers[kStride] = INT64_MAX;
  EXPECT_EQ(kPaged.run(wide).phase1, 0) << kPaged.run(wide).error;
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(NsaWithCacheSettings, VendorLimits) {
  const ProcessResult result = run_suite("NsaWithCacheVendor", {{"OPENACLNN_LIMITS", "vendor"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

// V11, in the order of the list of limits.
std::vector<Fault> vendor_faults() {
  struct Sizes {
    const char* rule;
    std::vector<int64_t> numbers;
    int64_t pages, heads, columns, slots;
    const char* sentence;
  };
  std::vector<Fault> list;
  list.push_back(bad_call(
      V11, "FLOAT16, BF16 only", {{Part::dtype, kInput}, {Part::dtype, kWeight}, {Part::dtype, kCache}},
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
         "outputCache has 22 slots; OPENACLNN_LIMITS=vendor wants more than 22"},
        {"no empty tensor", {32, 16, 1, 64}, 0, 2, 16, 30, "input has shape [0, 64, 2, 16]"}}) {
    list.push_back(bad_call(V11, sizes.rule,
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

TEST(NsaWithCachePhase1, HasNoLimitsOfHardware) {
  for (const Fault& limit : vendor_faults()) {
    CallArguments arguments = kPaged.valid;
    limit.apply(arguments);
    const Outcome outcome = kPaged.run(arguments);
    EXPECT_EQ(outcome.phase1, 0) << limit.rule << ": " << outcome.error;
  }
}

PROCESS_TEST(NsaWithCacheVendor, TheFirstOfTwoFaultsDecides) {
  Schema test = kPaged;
  for (Fault& limit : vendor_faults()) test.faults.push_back(std::move(limit));
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 1500);
}

// The largest sizes that are within the limits, and what has no limit without pages.
PROCESS_TEST(NsaWithCacheVendor, AcceptsTheLimitsThemselves) {
  CallArguments arguments = kPaged.valid;
  arguments.numbers = {112, 112, 1, 128};
  arguments.tensors[kInput].dims = {6, 128, 64, 256};
  arguments.tensors[kWeight].dims = {112, 64};
  arguments.tensors[kCache].dims = {6, 64, 256};
  const Outcome outcome = kPaged.run(arguments);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_EQ(kPacked.run(kPacked.valid).phase1, 0);
}

}  // namespace
}  // namespace openaclnn_test
