// NsaCompress: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/nsa/compress/tests/schema.h"
#include "support/expect.h"
#include "support/subprocess.h"
#include "support/windows_lengths.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_schema;

WindowsCall windows_call(const Schema& test) { return {test, kPhase1, kOutput, "output"}; }

TEST(NsaCompressPhase1, EveryFaultHasItsCodeAndSentence) {
  const Schema test = compress_test();
  expect_every_fault_is_found(test);
  EXPECT_GT(test.run(test.valid).workspace_bytes, 0u);
}
TEST(NsaCompressPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(compress_test()), 900);
}
TEST(NsaCompressPhase1, AcceptsExactlyTheListedDtypes) {
  const aclDataType of_input[] = {ACL_FLOAT16};
  expect_exactly_these_dtypes(compress_test(), {kInput, kWeight, kOutput}, kDtypes);
  expect_exactly_these_dtypes(compress_test(), {kWeight}, of_input);
  expect_exactly_these_dtypes(compress_test(), {kOutput}, of_input);
}
TEST(NsaCompressPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(compress_test()); }
TEST(NsaCompressPhase1, RefusesEveryOtherAttribute) { expect_refused_windows(windows_call(compress_test())); }
TEST(NsaCompressPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(compress_test()); }
TEST(NsaCompressPhase1, RefusesAnOutputThatOverlapsItselfButNotInputs) {
  expect_distinct_outputs(compress_test());
}

TEST(NsaCompressPhase1, AcceptsEveryWayToGiveTheLengths) {
  expect_every_way_to_give_lengths(windows_call(compress_test()));
}
TEST(NsaCompressPhase1, RefusesWrongLengthsByTheirFirstFault) {
  expect_first_fault_of_lengths(windows_call(compress_test()));
}

// V7: the text is read in phase 1 only, NULL is accepted, and a sentence shows the start of any text without breaking its line.
TEST(NsaCompressPhase1, ReadsTheLayoutText) {
  const Schema test = compress_test();
  CallArguments arguments = test.valid;
  arguments.layout.reset();
  EXPECT_EQ(test.run(arguments).phase1, 0);
  for (const std::string& text : {std::string("TN"), std::string("TNDX"), std::string("\n"),
                                  std::string("a\tb\x80\xFF"), std::string(5000, 'T')}) {
    arguments.layout = text;
    EXPECT_TRUE(
        failed_in_phase1(test.run(arguments), kPhase1, kInvalid, {"layoutOptional is \"", "\"TND\""}));
  }
}

// V12: no window at all, whatever the strides of output; and V13: weights that no workspace can hold.
TEST(NsaCompressPhase1, ExtremeSizes) {
  const Schema test = compress_test();
  for (const int64_t tokens : {0, 1, 31}) {
    CallArguments none = test.valid;
    none.tensors[kInput].dims = {tokens, 2, 16};
    none.tensors[kOutput].dims = {0, 2, 16};
    none.tensors[kOutput].strides = {0, 0, 0};
    none.array->values = {tokens};
    const Outcome outcome = test.run(none);
    EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
  const int64_t huge = int64_t{1} << 61;
  CallArguments endless = test.valid;
  endless.tensors[kInput].dims = {huge, 1, 1};
  endless.tensors[kInput].strides = {0, 0, 0};
  endless.tensors[kWeight].dims = {huge, 1};
  endless.tensors[kWeight].strides = {0, 0};
  endless.tensors[kOutput].dims = {1, 1, 1};
  endless.array->handle = Handle::null;
  endless.numbers = {huge, INT64_MAX, 0};
  EXPECT_TRUE(failed_in_phase1(test.run(endless), kPhase1, 561101, {"Failed to allocate"}));
}

// Without lengths: a shape alone asks for no more sequences than phase 1 cares to describe.
TEST(NsaCompressPhase1, MoreBatchesThanNeedNoLengths) {
  const Schema test = compress_test();
  for (const int64_t batches : {int64_t{1} << 21, int64_t{1} << 50}) {
    CallArguments many = test.valid;
    many.tensors[kInput].dims = {32 * batches, 2, 16};
    many.tensors[kOutput].dims = {batches, 2, 16};
    many.array->handle = Handle::null;
    EXPECT_TRUE(failed_in_phase1(test.run(many), kPhase1, 161002,
                                 {"(up to 1048576) has " + std::to_string(batches)}));
  }
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(NsaCompressSettings, Strict) {
  const ProcessResult result = run_suite("NsaCompressStrictPhase1", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}
TEST(NsaCompressSettings, VendorLimits) {
  const ProcessResult result = run_suite("NsaCompressVendor", {{"OPENACLNN_LIMITS", "vendor"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

PROCESS_TEST(NsaCompressStrictPhase1, WithoutLengthsTheBatchesAreUnambiguous) {
  expect_strict_refuses_ambiguous_batches(windows_call(compress_test()));
}

PROCESS_TEST(NsaCompressStrictPhase1, EveryTokenBelongsToASequence) {
  Schema test = compress_test();
  // Found before the number of windows, which would not fit either.
  const Fault rest =
      bad_array("strict: total != T", {48, 95},
                {"actSeqLenOptional[1] = 95 ends the last sequence at token 95 but input has 96 tokens",
                 "OPENACLNN_CHECK=strict"});
  test.faults.insert(test.faults.end() - 2, rest);
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 900);
  expect_lengths(windows_call(test),
                 {true, 1, {48, 47}, 3, "actSeqLenOptional[1] = 47 ends the last sequence at token 95"});
  expect_lengths(windows_call(test),
                 {true, 0, {0}, 0, "actSeqLenOptional[0] = 0 ends the last sequence at token 0"});
  expect_lengths(windows_call(test), {true, 1, {}, 5});
  expect_lengths(windows_call(test), {false, 0, {}, 5});
}

// V11, in the order of the list of limits. A fault that changes the number of windows cannot be combined with other lengths.
std::vector<Fault> vendor_faults() {
  struct Sizes {
    const char* rule;
    std::vector<int64_t> numbers;
    int64_t tokens, heads, columns, windows;
    std::vector<int64_t> lengths;
    const char* sentence;
  };
  const auto fault_of = [](const Sizes& sizes) {
    return bad_call(V11, sizes.rule,
                    {{Part::number, kBlockSize},
                     {Part::number, kStride},
                     {Part::number, kLengthType},
                     {Part::dims, kInput},
                     {Part::dims, kWeight},
                     {Part::dims, kOutput},
                     {Part::array, 0}},
                    [sizes](CallArguments& a) {
                      a.numbers = sizes.numbers;
                      a.tensors[kInput].dims = {sizes.tokens, sizes.heads, sizes.columns};
                      a.tensors[kWeight].dims = {sizes.numbers[kBlockSize], sizes.heads};
                      a.tensors[kOutput].dims = {sizes.windows, sizes.heads, sizes.columns};
                      a.array->values = sizes.lengths;
                    },
                    {sizes.sentence, "OPENACLNN_LIMITS=vendor accepts "});
  };
  std::vector<Fault> list;
  list.push_back(bad_call(
      V11, "FLOAT16, BF16 only", {{Part::dtype, kInput}, {Part::dtype, kWeight}, {Part::dtype, kOutput}},
      [](CallArguments& a) {
        for (TensorArgument& t : a.tensors) t.dtype = ACL_FLOAT;
      },
      {"input has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16"}));
  const std::vector<int64_t> two = {48, 96};
  for (const Sizes& sizes :
       {Sizes{"L a multiple of 16", {24, 16, 0}, 96, 2, 16, 4, two, "compressBlockSize is 24"},
        {"d a multiple of 16", {32, 12, 0}, 96, 2, 16, 4, two, "compressStride is 12"},
        {"D a multiple of 16", {32, 16, 0}, 96, 2, 24, 4, two, "dim 2 of input is 24"},
        {"L >= d", {32, 48, 0}, 96, 2, 16, 2, two, "compressBlockSize is 32 and compressStride is 48"},
        {"actSeqLenType 0", {32, 16, 1}, 96, 2, 16, 4, {48, 48}, "actSeqLenType is 1"},
        {"no empty tensor", {32, 16, 0}, 96, 2, 16, 0, {24, 48, 72, 96}, "output has shape [0, 2, 16]"},
        {"no empty tensor", {32, 16, 0}, 0, 2, 16, 0, {0}, "input has shape [0, 2, 16]"},
        {"N <= 128", {32, 16, 0}, 96, 129, 16, 4, two, "dim 1 of input is 129"},
        {"L <= 128", {144, 16, 0}, 288, 2, 16, 2, {144, 288}, "compressBlockSize is 144"},
        {"D <= 256", {32, 16, 0}, 96, 2, 272, 4, two, "dim 2 of input is 272"}}) {
    list.push_back(fault_of(sizes));
  }
  list.push_back(
      bad_call(V11, "lengths not NULL", {{Part::array_handle, 0}, {Part::array, 0}, {Part::dims, kOutput}},
               [](CallArguments& a) {
                 a.array->handle = Handle::null;
                 a.tensors[kOutput].dims = {5, 2, 16};
               },
               {"actSeqLenOptional is NULL; OPENACLNN_LIMITS=vendor requires at least one sequence"}));
  list.push_back(
      bad_call(V11, "lengths not empty", {{Part::array, 0}, {Part::dims, kOutput}},
               [](CallArguments& a) {
                 a.array->values.clear();
                 a.tensors[kOutput].dims = {5, 2, 16};
               },
               {"actSeqLenOptional is empty; OPENACLNN_LIMITS=vendor requires at least one sequence"}));
  list.push_back(bad_call(
      V11, "total length = T", {{Part::array, 0}, {Part::dims, kOutput}},
      [](CallArguments& a) {
        a.array->values = {48, 95};
        a.tensors[kOutput].dims = {3, 2, 16};
      },
      {"actSeqLenOptional[1] = 95 but input has 96 tokens; OPENACLNN_LIMITS=vendor wants every token"}));
  return list;
}

TEST(NsaCompressPhase1, HasNoLimitsOfHardware) {
  const Schema test = compress_test();
  for (const Fault& limit : vendor_faults()) {
    CallArguments arguments = test.valid;
    limit.apply(arguments);
    const Outcome outcome = test.run(arguments);
    EXPECT_EQ(outcome.phase1, 0) << limit.rule << ": " << outcome.error;
  }
}

PROCESS_TEST(NsaCompressVendor, TheFirstOfTwoFaultsDecides) {
  Schema test = compress_test();
  for (Fault& limit : vendor_faults()) test.faults.push_back(std::move(limit));
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 1200);
}

// All limits are broken at once, then one after the other is kept: no window of 24 or 32 tokens fits into 16.
PROCESS_TEST(NsaCompressVendor, LimitsAreFoundInTheirOrder) {
  struct Limit {
    std::vector<int64_t> numbers;
    int64_t columns;
    const char* sentence;
  };
  const Schema test = compress_test();
  for (const Limit& limit : {Limit{{24, 40, 1}, 24, "compressBlockSize is 24"},
                             {{32, 40, 1}, 24, "compressStride is 40"},
                             {{32, 48, 1}, 24, "dim 2 of input is 24"},
                             {{32, 48, 1}, 16, "compressBlockSize is 32 and compressStride is 48"},
                             {{32, 32, 1}, 16, "actSeqLenType is 1"},
                             {{32, 32, 0}, 16, "output has shape [0, 2, 16]"}}) {
    CallArguments arguments = test.valid;
    std::vector<TensorArgument>& t = arguments.tensors;
    arguments.numbers = limit.numbers;
    arguments.array->values = {16};
    t[kInput].dims = {16, 2, limit.columns};
    t[kWeight].dims = {limit.numbers[kBlockSize], 2};
    t[kOutput].dims = {0, 2, limit.columns};
    EXPECT_TRUE(failed_in_phase1(test.run(arguments), kPhase1, kInvalid, {limit.sentence}));
  }
}

// The largest sizes that are within the limits.
PROCESS_TEST(NsaCompressVendor, AcceptsTheLimitsThemselves) {
  const Schema test = compress_test();
  CallArguments arguments = test.valid;
  arguments.tensors[kInput].dims = {256, 128, 256};
  arguments.tensors[kWeight].dims = {128, 128};
  arguments.tensors[kOutput].dims = {2, 128, 256};
  arguments.numbers = {128, 128, 0};
  arguments.array->values = {128, 256};
  const Outcome outcome = test.run(arguments);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
}

}  // namespace
}  // namespace openaclnn_test
