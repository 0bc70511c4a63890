// GroupedBiasAddGrad: the contents of groupIdx: reports of faulty entries, rows without a group, and empty
// tensors.
#include <gtest/gtest.h>

#include "ops/grouped_bias_add_grad/verify/cases.h"
#include "support/case_call.h"
#include "support/subprocess.h"
#include "support/verify.h"

namespace openaclnn_test {
namespace {

constexpr const char* kPhase2 = "aclnnGroupedBiasAddGradV2";

BiasAttributes attributes_of(int64_t index_type) { return {.grouped = true, .index_type = index_type}; }

// A call with these entries, valid or not.
CaseCall call_with(int64_t index_type, const std::vector<int64_t>& entries, int64_t rows,
                   aclDataType index_dtype = ACL_INT64, aclDataType dtype = ACL_FLOAT, int64_t columns = 3,
                   Placement placement = Placement::ends_at_guard) {
  BiasShape shape = {std::vector<int64_t>(entries.size(), 0), columns, rows};
  Case c = bias_case(dtype, index_dtype, attributes_of(index_type), shape, Layout::contiguous, "fault");
  c.tensors[kBiasGroups].listed = entries;
  CaseCall call(c, placement);
  for (size_t j = 0; j < entries.size(); ++j)  // not via double: every bit of an int64 counts
    call[kBiasGroups].set_bits(static_cast<int64_t>(j), static_cast<uint64_t>(entries[j]));
  call[2].remember();
  return call;
}

struct Wrong {
  int64_t index_type;
  std::vector<int64_t> entries;
  int64_t rows;
  std::string sentence;
};

const std::vector<Wrong>& wrong_entries() {
  static const std::vector<Wrong> all = {
      {0,
       {3, 2},
       4,
       "groupIdxOptional[1] = 2 is below groupIdxOptional[0] = 3; group ends must not decrease; 1 of 2 "
       "entries"},
      {0, {2, 5}, 4, "groupIdxOptional[1] = 5 exceeds 4, the number of rows of gradY; 1 of 2"},
      // Ends
      {0,
       {-1, 2},
       4,
       "groupIdxOptional[0] = -1 is negative; entries must be in [0, 4]; 1 of 2 entries are wrong"},
      {0, {1, -1, 2}, 4, "groupIdxOptional[1] = -1 is below groupIdxOptional[0] = 1"},
      {0, {-5, -3, 4}, 4, "groupIdxOptional[0] = -5 is negative; entries must be in [0, 4]; 2 of 3 entries"},
      {0, {5, 4, 4}, 4, "groupIdxOptional[0] = 5 exceeds 4, the number of rows of gradY; 2 of 3"},
      {0,
       {0, 4, 3, 4, 3},
       4,
       "groupIdxOptional[2] = 3 is below groupIdxOptional[1] = 4; group ends must not decrease; 2 of 5"},
      // Sizes: a negative one counts as 0 in the sum, which saturates
      {1,
       {2, 3},
       4,
       "groupIdxOptional[1] = 3 makes the sum of the group sizes exceed 4, the number of rows of gradY; 1 of "
       "2"},
      {1,
       {5, 0, 0},
       4,
       "groupIdxOptional[0] = 5 makes the sum of the group sizes exceed 4, the number of rows of gradY; 3 of "
       "3"},
      {1, {1, -2, 3}, 4, "groupIdxOptional[1] = -2 is negative; entries must be in [0, 4]; 1 of 3 entries"},
      {1, {-1, 5}, 4, "groupIdxOptional[0] = -1 is negative; entries must be in [0, 4]; 2 of 2 entries"},
  };
  return all;
}

TEST(GroupedBiasFaults, WrongEntriesAreReportedAndNothingIsWritten) {
  for (const Wrong& wrong : wrong_entries()) {
    for (const aclDataType index_dtype : {ACL_INT32, ACL_INT64}) {
      for (const aclDataType dtype : kFloatDtypes) {
        CaseCall call = call_with(wrong.index_type, wrong.entries, wrong.rows, index_dtype, dtype);
        EXPECT_TRUE(failed_in_sync(call.run(), {"aclnnGroupedBiasAddGradV2 (stream", wrong.sentence,
                                                "entries are wrong and nothing was written"}));
        EXPECT_TRUE(call[2].unchanged());
        EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "a fault is returned once";
      }
    }
  }
}

TEST(GroupedBiasFaults, ExtremesOfBothIntegerTypes) {
  const auto report = [](int64_t index_type, const std::vector<int64_t>& entries, aclDataType dtype,
                         const std::string& sentence) {
    CaseCall call = call_with(index_type, entries, 4, dtype);
    EXPECT_TRUE(failed_in_sync(call.run(), {sentence}));
    EXPECT_TRUE(call[2].unchanged());
  };
  report(0, {0, INT64_MAX}, ACL_INT64, "groupIdxOptional[1] = 9223372036854775807 exceeds 4");
  report(0, {INT64_MIN, 4}, ACL_INT64, "groupIdxOptional[0] = -9223372036854775808 is negative");
  report(0, {int64_t{1} << 32, 4}, ACL_INT64, "groupIdxOptional[0] = 4294967296 exceeds 4");
  report(0, {0, INT32_MAX}, ACL_INT32, "groupIdxOptional[1] = 2147483647 exceeds 4");
  report(0, {INT32_MIN, 4}, ACL_INT32, "groupIdxOptional[0] = -2147483648 is negative");
  // The running sum saturates: it does not wrap around to a number that would be accepted.
  report(1, {INT64_MAX, INT64_MAX, 2}, ACL_INT64, "groupIdxOptional[0] = 9223372036854775807 makes the sum");
  report(1, {INT64_MAX, 1, INT64_MAX}, ACL_INT64, "3 of 3 entries are wrong");
  report(1, {2, INT64_MIN, 2}, ACL_INT64,
         "groupIdxOptional[1] = -9223372036854775808 is negative; entries must be in [0, 4]; 1 of 3");
  report(1, {INT32_MAX, INT32_MAX}, ACL_INT32, "2 of 2 entries are wrong");
}

TEST(GroupedBiasFaults, TheNextCallIsClean) {
  CaseCall call = call_with(0, {3, 2}, 4);
  EXPECT_TRUE(failed_in_sync(call.run(), {"groupIdxOptional[1] = 2"}));
  call[kBiasGroups].fill({2, 4});
  EXPECT_TRUE(call.run_cleanly());
}

// Stride 0: all ends are the same number, so the first group has all rows.
TEST(GroupedBiasFaults, ExpandedEntriesAreEntries) {
  CaseCall call = call_with(0, {4}, 4);
  Case expanded = call.description();
  expanded.tensors[kBiasGroups].dims = {3};
  expanded.tensors[kBiasGroups].layout = Layout::broadcast;
  expanded.tensors[kBiasGroups].listed = {4, 4, 4};
  expanded.tensors[2].dims = {3, 3};
  CaseCall three(expanded);
  three[kBiasGradY].fill({1, 2, 3});
  ASSERT_TRUE(three.run_cleanly());
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(three[2].get(i), i < 3 ? static_cast<double>(4 * (i + 1)) : 0.0);
}

// ---- Nothing to sum, nothing to write ----

TEST(GroupedBiasEmpty, WithoutRowsOutIsZeroAndEntriesAreNotRead) {
  for (const int64_t index_type : {0, 1}) {
    for (const aclDataType dtype : kFloatDtypes) {
      CaseCall call = call_with(index_type, {7, -3, 100000}, 0, ACL_INT64, dtype, 70);
      const Outcome outcome = call.run();
      EXPECT_TRUE(succeeded(outcome));
      EXPECT_EQ(outcome.workspace_bytes, 0u);
      EXPECT_TRUE(call.has_bits(2, std::vector<uint64_t>(3 * 70)));
    }
  }
  Case c = bias_case(ACL_FLOAT16, ACL_INT64, {.grouped = false}, {std::vector<int64_t>(9, 0), 4},
                     Layout::strided, "no rows");
  CaseCall equal(c);
  ASSERT_TRUE(equal.run_cleanly());
  EXPECT_TRUE(equal.has_bits(1, std::vector<uint64_t>(36)));
}

TEST(GroupedBiasEmpty, WithoutGroupsOrColumnsThereIsNothingToDo) {
  CaseCall no_groups = call_with(0, {}, 5);
  EXPECT_TRUE(no_groups.run_cleanly());
  CaseCall no_columns = call_with(0, {9, 2}, 5, ACL_INT32, ACL_BF16, 0);
  EXPECT_TRUE(no_columns.run_cleanly());
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(GroupedBiasSettings, Strict) {
  expect_suite_passes("GroupedBiasStrict", {{"OPENACLNN_CHECK", "strict"}});
}
TEST(GroupedBiasSettings, Silent) {
  expect_suite_passes("GroupedBiasSilent", {{"OPENACLNN_CHECK", "silent"}});
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};

PROCESS_TEST(GroupedBiasStrict, WrongEntriesFailInPhase2) {
  use_device();
  for (const Wrong& wrong : wrong_entries()) {
    CaseCall call =
        call_with(wrong.index_type, wrong.entries, wrong.rows, ACL_INT64, ACL_FLOAT, 3, Placement::library);
    EXPECT_TRUE(failed_in_phase2(call.run(kLibraryMemory), kPhase2, 507035, {wrong.sentence}));
    EXPECT_TRUE(call[2].unchanged());
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
  }
}

PROCESS_TEST(GroupedBiasStrict, EveryRowMustBeInAGroup) {
  use_device();
  for (const int64_t index_type : {0, 1}) {
    CaseCall call = call_with(index_type, {0, 2}, 4, ACL_INT32, ACL_FLOAT, 3, Placement::library);
    EXPECT_TRUE(failed_in_phase2(call.run(kLibraryMemory), kPhase2, 507035,
                                 {"the last group, groupIdxOptional[1], ends at row 2 but gradY has 4 rows",
                                  "strict mode requires every row to be in a group; nothing was written"}));
    EXPECT_TRUE(call[2].unchanged());
    call[kBiasGroups].set(1, 4);
    EXPECT_TRUE(call.run_cleanly(kLibraryMemory));
  }
  // Without rows, or without outputs, entries are not read.
  EXPECT_TRUE(
      succeeded(call_with(0, {9, 2}, 0, ACL_INT32, ACL_FLOAT, 3, Placement::library).run(kLibraryMemory)));
  EXPECT_TRUE(
      succeeded(call_with(0, {}, 4, ACL_INT32, ACL_FLOAT, 3, Placement::library).run(kLibraryMemory)));
}

PROCESS_TEST(GroupedBiasSilent, NothingIsWrittenAndNothingReported) {
  for (const Wrong& wrong : wrong_entries()) {
    CaseCall call = call_with(wrong.index_type, wrong.entries, wrong.rows);
    EXPECT_TRUE(succeeded(call.run()));
    EXPECT_TRUE(call[2].unchanged());
    EXPECT_EQ(aclrtSynchronizeDevice(), 0);
  }
}

}  // namespace
}  // namespace openaclnn_test
