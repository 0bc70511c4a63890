// NsaCompressGrad: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include <tuple>

#include "ops/nsa/compress_grad/tests/schema.h"
#include "support/expect.h"
#include "support/subprocess.h"
#include "support/windows_lengths.h"

namespace openaclnn_test {
namespace {

using namespace nsa_compress_grad_schema;

WindowsCall windows_call(const Schema& test) { return {test, kPhase1, kOutputGrad, "outputGrad"}; }

TEST(NsaCompressGradPhase1, EveryFaultHasItsCodeAndSentence) {
  const Schema test = grad_test();
  expect_every_fault_is_found(test);
  EXPECT_GT(test.run(test.valid).workspace_bytes, 0u);
}
TEST(NsaCompressGradPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(grad_test()), 2000);
}
TEST(NsaCompressGradPhase1, AcceptsExactlyTheListedDtypes) {
  const aclDataType of_output_grad[] = {ACL_FLOAT16};
  expect_exactly_these_dtypes(grad_test(), {kOutputGrad, kInput, kWeight, kInputGrad, kWeightGrad}, kDtypes);
  for (size_t k = kInput; k < kTensors; ++k) expect_exactly_these_dtypes(grad_test(), {k}, of_output_grad);
}
TEST(NsaCompressGradPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(grad_test()); }
TEST(NsaCompressGradPhase1, RefusesEveryOtherAttribute) { expect_refused_windows(windows_call(grad_test())); }
TEST(NsaCompressGradPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(grad_test()); }
TEST(NsaCompressGradPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  expect_distinct_outputs(grad_test());
}

TEST(NsaCompressGradPhase1, AcceptsEveryWayToGiveTheLengths) {
  expect_every_way_to_give_lengths(windows_call(grad_test()));
}
TEST(NsaCompressGradPhase1, RefusesWrongLengthsByTheirFirstFault) {
  expect_first_fault_of_lengths(windows_call(grad_test()));
}

TEST(NsaCompressGradPhase1, TheLayoutMayBeNull) {
  const Schema test = grad_test();
  CallArguments arguments = test.valid;
  arguments.layout.reset();
  EXPECT_EQ(test.run(arguments).phase1, 0);
}

// V12: with no windows, tokens, heads or columns there is nothing to sum, and no workspace is asked for.
TEST(NsaCompressGradPhase1, EmptyTensorsPass) {
  struct Sizes {
    int64_t windows, tokens, heads, columns;
  };
  for (const Sizes& sizes :
       {Sizes{0, 31, 2, 16}, {0, 0, 2, 16}, {4, 96, 0, 16}, {4, 96, 2, 0}, {0, 31, 0, 0}}) {
    const Schema test = grad_test();
    CallArguments arguments = test.valid;
    std::vector<TensorArgument>& t = arguments.tensors;
    t[kOutputGrad].dims = {sizes.windows, sizes.heads, sizes.columns};
    t[kInput].dims = t[kInputGrad].dims = {sizes.tokens, sizes.heads, sizes.columns};
    t[kWeight].dims = t[kWeightGrad].dims = {32, sizes.heads};
    arguments.array->values = {sizes.tokens / 2, sizes.tokens};
    const Outcome outcome = test.run(arguments);
    EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
}

// Without lengths and columns any shape is one that a caller may pass: the search for batches ends soon, also for numbers that have
// no small divisor. It ends at 2^20 batches, unless they have no windows.
TEST(NsaCompressGradPhase1, SearchesBatchesOfAnyShape) {
  const Schema test = grad_test();
  const int64_t prime = (int64_t{1} << 61) - 1;
  for (const auto& [windows, tokens, is_accepted] : {std::tuple(int64_t{1} << 20, int64_t{1} << 25, true),
                                                     {int64_t{1} << 21, int64_t{1} << 26, false},
                                                     {int64_t{1} << 55, int64_t{1} << 61, false},
                                                     {prime / 3, prime, false},
                                                     {prime, prime, false},
                                                     {int64_t{0}, prime, true},
                                                     {(prime - 32) / 16 + 1, prime, true}}) {
    CallArguments arguments = test.valid;
    std::vector<TensorArgument>& t = arguments.tensors;
    t[kOutputGrad].dims = {windows, 2, 0};
    t[kInput].dims = t[kInputGrad].dims = {tokens, 2, 0};
    arguments.array->handle = Handle::null;
    const Outcome outcome = test.run(arguments);
    EXPECT_EQ(outcome.phase1, is_accepted ? 0 : kInvalid) << windows << " windows: " << outcome.error;
  }
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(NsaCompressGradSettings, StrictPhase1) {
  const ProcessResult result = run_suite("NsaCompressGradStrictPhase1", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}
TEST(NsaCompressGradSettings, VendorLimits) {
  const ProcessResult result = run_suite("NsaCompressGradVendor", {{"OPENACLNN_LIMITS", "vendor"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

PROCESS_TEST(NsaCompressGradStrictPhase1, WithoutLengthsTheBatchesAreUnambiguous) {
  expect_strict_refuses_ambiguous_batches(windows_call(grad_test()));
}

PROCESS_TEST(NsaCompressGradStrictPhase1, EveryTokenBelongsToASequence) {
  Schema test = grad_test();
  const std::string array = "actSeqLenOptionalOptional";
  // Found before the number of windows, which would not fit either.
  const Fault rest =
      bad_array("strict: total != T", {48, 95},
                {array + "[1] = 95 ends the last sequence at token 95 but input has 96 tokens"});
  test.faults.insert(test.faults.end() - 2, rest);
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 2000);
  expect_lengths(windows_call(test),
                 {true, 1, {48, 47}, 3, array + "[1] = 47 ends the last sequence at token 95"});
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
  std::vector<Part> all_dtypes;
  std::vector<Part> all_sizes = {
      {Part::number, kBlockSize}, {Part::number, kStride}, {Part::number, kLengthType}, {Part::array, 0}};
  for (size_t k = 0; k < kTensors; ++k) {
    all_dtypes.push_back({Part::dtype, k});
    all_sizes.push_back({Part::dims, k});
  }
  std::vector<Fault> list;
  list.push_back(bad_call(V11, "FLOAT16, BF16 only", all_dtypes,
                          [](CallArguments& a) {
                            for (TensorArgument& t : a.tensors) t.dtype = ACL_FLOAT;
                          },
                          {"has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16"}));
  const std::vector<int64_t> two = {48, 96};
  for (const Sizes& sizes :
       {Sizes{"L a multiple of 16", {24, 16, 0}, 96, 2, 16, 4, two, "compressBlockSize is 24"},
        {"d a multiple of 16", {32, 12, 0}, 96, 2, 16, 4, two, "compressStride is 12"},
        {"D a multiple of 16", {32, 16, 0}, 96, 2, 24, 4, two, "dim 2 of input is 24"},
        {"L >= d", {32, 48, 0}, 96, 2, 16, 2, two, "compressBlockSize is 32 and compressStride is 48"},
        {"actSeqLenType 0", {32, 16, 1}, 96, 2, 16, 4, {48, 48}, "actSeqLenType is 1"},
        {"no empty tensor", {32, 16, 0}, 96, 2, 16, 0, {24, 48, 72, 96}, "outputGrad has shape [0, 2, 16]"},
        {"no empty tensor", {32, 16, 0}, 96, 0, 16, 4, two, "outputGrad has shape [4, 0, 16]"},
        {"no empty tensor", {32, 16, 0}, 96, 2, 0, 4, two, "outputGrad has shape [4, 2, 0]"}}) {
    list.push_back(
        bad_call(V11, sizes.rule, all_sizes,
                 [sizes](CallArguments& a) {
                   std::vector<TensorArgument>& t = a.tensors;
                   a.numbers = sizes.numbers;
                   t[kOutputGrad].dims = {sizes.windows, sizes.heads, sizes.columns};
                   t[kInput].dims = t[kInputGrad].dims = {sizes.tokens, sizes.heads, sizes.columns};
                   t[kWeight].dims = t[kWeightGrad].dims = {sizes.numbers[kBlockSize], sizes.heads};
                   a.array->values = sizes.lengths;
                 },
                 {sizes.sentence, "OPENACLNN_LIMITS=vendor accepts "}));
  }
  return list;
}

TEST(NsaCompressGradPhase1, HasNoLimitsOfHardware) {
  const Schema test = grad_test();
  for (const Fault& limit : vendor_faults()) {
    CallArguments arguments = test.valid;
    limit.apply(arguments);
    const Outcome outcome = test.run(arguments);
    EXPECT_EQ(outcome.phase1, 0) << limit.rule << ": " << outcome.error;
  }
}

PROCESS_TEST(NsaCompressGradVendor, TheFirstOfTwoFaultsDecides) {
  Schema test = grad_test();
  for (Fault& limit : vendor_faults()) test.faults.push_back(std::move(limit));
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 2200);
}

// All limits are broken at once, then one after the other is kept: no window of 24 or 32 tokens fits into 16.
PROCESS_TEST(NsaCompressGradVendor, LimitsAreFoundInTheirOrder) {
  struct Limit {
    std::vector<int64_t> numbers;
    int64_t columns;
    const char* sentence;
  };
  const Schema test = grad_test();
  for (const Limit& limit : {Limit{{24, 40, 1}, 24, "compressBlockSize is 24"},
                             {{32, 40, 1}, 24, "compressStride is 40"},
                             {{32, 48, 1}, 24, "dim 2 of input is 24"},
                             {{32, 48, 1}, 16, "compressBlockSize is 32 and compressStride is 48"},
                             {{32, 32, 1}, 16, "actSeqLenType is 1"},
                             {{32, 32, 0}, 16, "outputGrad has shape [0, 2, 16]"}}) {
    CallArguments arguments = test.valid;
    std::vector<TensorArgument>& t = arguments.tensors;
    arguments.numbers = limit.numbers;
    arguments.array->values = {16};
    t[kOutputGrad].dims = {0, 2, limit.columns};
    t[kInput].dims = t[kInputGrad].dims = {16, 2, limit.columns};
    t[kWeight].dims = t[kWeightGrad].dims = {limit.numbers[kBlockSize], 2};
    EXPECT_TRUE(failed_in_phase1(test.run(arguments), kPhase1, kInvalid, {limit.sentence}));
  }
}

// What only NsaCompress limits: N, L, D, NULL lengths and a total below T.
PROCESS_TEST(NsaCompressGradVendor, HasNoLimitsOfTheForwardOperator) {
  const Schema test = grad_test();
  expect_lengths(windows_call(test), {false, 0, {}, 5});
  expect_lengths(windows_call(test), {true, 0, {}, 5});
  expect_lengths(windows_call(test), {true, 0, {48, 95}, 3});
  CallArguments large = test.valid;
  std::vector<TensorArgument>& t = large.tensors;
  t[kOutputGrad].dims = {2, 144, 272};
  t[kInput].dims = t[kInputGrad].dims = {288, 144, 272};
  t[kWeight].dims = t[kWeightGrad].dims = {144, 144};
  large.numbers = {144, 144, 0};
  large.array->values = {144, 288};
  const Outcome outcome = test.run(large);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
}

}  // namespace
}  // namespace openaclnn_test
