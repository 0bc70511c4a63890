// Embedding: phase 2 refusals, and the modes of the process that change refusals or reports.
#include <gtest/gtest.h>

#include "ops/embedding/tests/call_cases.h"
#include "support/phase1_mistakes.h"
#include "support/phase2_refusals.h"
#include "support/subprocess.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

void expect_untouched(const EmbeddingCall& call, const Outcome& outcome, int code,
                      const std::vector<std::string>& parts) {
  EXPECT_TRUE(failed_in_phase2(outcome, kEmbeddingPhase2, code, parts));
  for (int k = 0; k < kEmbeddingTensors; ++k)
    EXPECT_TRUE(call[k].unchanged()) << kEmbeddingNames[k] << " was written to";
}

EmbeddingCall filled_call(aclDataType dtype = ACL_FLOAT, aclDataType index_dtype = ACL_INT64,
                          Placement placement = Placement::ends_at_guard, const Shape& index_dims = {6}) {
  EmbeddingCall call(dtype, index_dtype, 5, 8, index_dims, Layout::contiguous, placement);
  Random random(test_seed());
  call.fill(random);
  call.remember();
  return call;
}

HostTensor nowhere(const HostTensor& tensor) { return placed_at(tensor, tensor, nullptr); }

Launch embedding_launch(aclDataType dtype, aclDataType index_dtype, Placement placement, int64_t table_rows,
                        const Shape& index_dims) {
  return make_launch(
      kEmbeddingPhase2,
      embedding_case(dtype, index_dtype, table_rows, 8, index_dims, Layout::contiguous, "launch"), placement);
}

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kEmbeddingDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes) {
      const auto of = [dtype, index_dtype](const Shape& index_dims) {
        return [=](Placement placement) {
          return embedding_launch(dtype, index_dtype, placement, 5, index_dims);
        };
      };
      const std::string name = std::string(dtype_name(dtype)) + dtype_name(index_dtype);
      all.push_back({.name = name, .make = of({8}), .least_pairs = 100});
      // An empty out requires nothing.
      all.push_back({.name = name + "Empty", .make = of({2, 0}), .not_accessed = {kWeight, kIndices, kOut}});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Embedding, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

// A table without rows is not read. Indices and out are still required.
TEST(EmbeddingPhase2, ATableWithoutRowsNeedsNoMemory) {
  for (const Placement placement : {Placement::ends_at_guard, Placement::starts_at_guard}) {
    EmbeddingCall call(ACL_FLOAT, ACL_INT32, 0, 8, {6}, Layout::contiguous, placement);
    call.replace(kWeight, nowhere(call[kWeight]));
    for (int64_t i = 0; i < 6; ++i) call.set_index(i, i);
    EXPECT_TRUE(call.run_and_compare());
    for (const int k : {kIndices, kOut}) {
      EmbeddingCall spoiled = call;
      spoiled.replace(k, nowhere(call[k]));
      EXPECT_TRUE(failed_in_phase2(spoiled.run(), kEmbeddingPhase2, kNull,
                                   {std::string(kEmbeddingNames[k]) + " has a NULL data address"}));
    }
  }
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(EmbeddingSettings, Strict) { expect_suite_passes("EmbeddingStrict", {{"OPENACLNN_CHECK", "strict"}}); }
TEST(EmbeddingSettings, StrictWithOneThread) {
  expect_suite_passes("EmbeddingStrict", {{"OPENACLNN_CHECK", "strict"}, {"OPENACLNN_NUM_THREADS", "1"}});
}
TEST(EmbeddingSettings, Silent) { expect_suite_passes("EmbeddingSilent", {{"OPENACLNN_CHECK", "silent"}}); }
TEST(EmbeddingSettings, Blocking) { expect_suite_passes("EmbeddingBlocking", {{"OPENACLNN_BLOCKING", "1"}}); }
TEST(EmbeddingSettings, VendorLimits) {
  expect_suite_passes("EmbeddingVendor", {{"OPENACLNN_LIMITS", "vendor"}});
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};

PROCESS_TEST(EmbeddingStrict, AWrongIndexIsAFaultAndNothingIsWritten) {
  use_device();
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const aclDataType index_dtype : kIndexDtypes) {
      for (const auto& [positions, columns] : {std::pair<int64_t, int64_t>{10, 3}, {70000, 2}, {2, 100003}}) {
        EmbeddingCall call(dtype, index_dtype, 7, columns, {positions}, Layout::contiguous,
                           Placement::library);
        call.fill(random);
        EXPECT_TRUE(call.run_and_compare(CheckSetting::report, kLibraryMemory));
        for (const int64_t value : {int64_t{-1}, int64_t{7}, int64_t{INT32_MIN}, int64_t{INT32_MAX}}) {
          call.set_index(positions - 1, 99);
          call.set_index(positions / 2, value);
          call.remember();
          const int64_t wrong = positions / 2 == positions - 1 ? 1 : 2;
          expect_untouched(call, call.run(kLibraryMemory), 507035,
                           {"stream ", ", task ", ": " + embedding_fault_text(positions / 2, value, 7),
                            count_text(wrong, positions) + " are wrong and nothing was written"});
          EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
        }
      }
    }
  }
}

PROCESS_TEST(EmbeddingStrict, ATableWithoutRowsLeavesOutUntouched) {
  EmbeddingCall call(ACL_FLOAT, ACL_INT32, 0, 8, {6}, Layout::contiguous, Placement::library);
  for (const bool has_memory : {true, false}) {
    if (!has_memory) call.replace(kWeight, nowhere(call[kWeight]));
    for (int64_t i = 0; i < 6; ++i) call.set_index(i, i);
    call.remember();
    expect_untouched(call, call.run(kLibraryMemory), 507035,
                     {embedding_fault_text(0, 0, 0), "6 of 6 indices are wrong and nothing was written"});
  }
  EmbeddingCall empty(ACL_FLOAT, ACL_INT32, 0, 8, {0}, Layout::contiguous, Placement::library);
  EXPECT_TRUE(succeeded(empty.run(kLibraryMemory)));
}

PROCESS_TEST(EmbeddingStrict, EveryLayoutWorks) {
  Random random(test_seed());
  for (const Layout layout : kOutputLayouts) {
    EmbeddingCall call(ACL_BF16, ACL_INT64, 7, 9, {3, 50}, layout, Placement::library);
    call.fill(random);
    EXPECT_TRUE(call.run_and_compare(CheckSetting::report, kLibraryMemory)) << layout_name(layout);
    call.set_index(77, -5);
    call.remember();
    expect_untouched(call, call.run(kLibraryMemory), 507035, {embedding_fault_text(77, -5, 7), "1 of 150"});
  }
}

PROCESS_TEST(EmbeddingSilent, RowsBecomeZeroWithoutAWord) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const int64_t value : {int64_t{-1}, int64_t{5}, int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
      EmbeddingCall call(dtype, ACL_INT64, 5, 8, {2000}, Layout::mixed);
      call.fill(random);
      for (const int64_t position : {3, 4, 1999}) call.set_index(position, value);
      ASSERT_TRUE(call.run_and_compare(CheckSetting::silent)) << "dtype " << dtype << ", index " << value;
    }
  }
  EmbeddingCall no_rows(ACL_FLOAT, ACL_INT64, 0, 8, {20});
  for (int64_t i = 0; i < 20; ++i) no_rows.set_index(i, 0);
  ASSERT_TRUE(no_rows.run_and_compare(CheckSetting::silent));
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
}

PROCESS_TEST(EmbeddingBlocking, Phase2ReturnsTheFaultAndTheOtherRowsAreExact) {
  EmbeddingCall call = filled_call();
  call.set_index(4, 5);
  EXPECT_TRUE(
      failed_in_phase2(call.run(), kEmbeddingPhase2, 507035,
                       {embedding_fault_text(4, 5, 5), "the rows of 1 of 6 indices were set to zero"}));
  EXPECT_EQ(call[kOut].all_bytes(), embedding_expected(call[kWeight], call[kIndices]).out);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
}

// The operator has no hardware limits, so nothing changes.
PROCESS_TEST(EmbeddingVendor, AcceptsTheSame) {
  Random random(test_seed());
  for (const Shape& index_dims : {Shape{}, Shape{0}, Shape{3}, Shape{1, 1, 1, 1, 1, 1, 3}}) {
    for (const int64_t columns : {0, 1, 17}) {
      EmbeddingCall call(ACL_COMPLEX128, ACL_INT32, 5, columns, index_dims);
      call.fill(random);
      EXPECT_TRUE(call.run_and_compare());
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
