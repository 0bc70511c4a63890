// ApplyFusedEmaAdamList: phase 2 refusals, addresses that change between runs, and the modes of the process.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "ops/apply_fused_ema_adam_list/tests/launch_cases.h"
#include "runtime/gate.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

TEST(EmaAdamListPhase2, TheFirstOfTwoMistakesDecides) {
  EXPECT_GT(expect_launch_mistakes_in_order(list_launch(1, true)), 5000);
  EXPECT_GT(expect_launch_mistakes_in_order(list_launch(2, false)), 20000);
}

TEST(EmaAdamListPhase2, RefusesMisalignedData) { expect_misaligned_data_refused(list_launch(2, true)); }

// step is read only with bias correction, and empty tensors are not read.
TEST(EmaAdamListPhase2, NeedsOnlyWhatItAccesses) {
  expect_only_needed_memory_matters(list_launch(2, true));
  EmaAttributes uncorrected = kAttributes;
  uncorrected.bias_correction = false;
  const Launch without_step = not_accessing(list_launch(1, false, uncorrected), {5});
  expect_only_needed_memory_matters(without_step);
  EXPECT_GT(expect_launch_mistakes_in_order(without_step), 500);
  const Launch empty = not_accessing(list_launch(1, true, kAttributes, Placement::ends_at_guard, {3, 0}),
                                     {0, 1, 2, 3, 4, 5, 6, 7, 8});
  expect_only_needed_memory_matters(empty);
}

TEST(EmaAdamListPhase2, AcceptsNeighbours) { expect_neighbours_work(list_launch(2, true)); }

// ---- Addresses ----

class EmaAdamListAddresses : public testing::Test {
 protected:
  EmaAdamListAddresses() : launch_(remembering(list_launch(2, true))), other_(copy_of(launch_)) {
    use_device();
    std::vector<aclTensor*> handles;
    for (const LaunchTensor& t : launch_.tensors) {
      descriptors_.push_back(t.tensor.describe());
      handles.push_back(descriptors_.back().get());
    }
    uint64_t bytes = 0;
    EXPECT_EQ(launch_.phase1(handles, &bytes, &executor_), 0);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
    list_ = std::make_unique<TensorList>(std::span<aclTensor* const>(handles).first(2));
    take_error_text();
  }
  ~EmaAdamListAddresses() override { EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0); }

  // The address of tensor `index` of parameter `list`, and its memory in the launch and in the copy.
  static size_t at(size_t list, size_t index) { return 2 * list + index; }
  void* memory(size_t tensor) { return launch_.tensors[tensor].tensor.data(); }
  void* other_memory(size_t tensor) { return other_.tensors[tensor].tensor.data(); }
  int run() {
    const int code = openaclnnApplyFusedEmaAdamList(nullptr, 0, executor_, nullptr);
    return code != 0 ? code : aclrtSynchronizeStream(nullptr);
  }

  using SetElement = aclnnStatus (*)(aclOpExecutor*, size_t, const size_t, aclTensorList*, void*);
  using SetTensor = aclnnStatus (*)(aclOpExecutor*, const size_t, aclTensor*, void*);
  // After one address is set, the run leaves the tensor's old memory unchanged and writes to the new one.
  void expect_reached(SetElement set, size_t ir_index, size_t list, size_t index) {
    const size_t tensor = at(list, index);
    other_ = remembering(copy_of(launch_));
    launch_ = remembering(std::move(launch_));
    ASSERT_EQ(set(executor_, ir_index, index, list_->get(), other_memory(tensor)), 0) << take_error_text();
    void* address = nullptr;
    EXPECT_EQ(aclGetRawTensorAddr((*list_)[index], &address), 0);
    EXPECT_EQ(address, other_memory(tensor)) << "the tensor object follows";
    ASSERT_EQ(run(), 0) << take_error_text();
    EXPECT_TRUE(launch_.tensors[tensor].tensor.unchanged()) << kListNames[list] << index;
    EXPECT_EQ(other_.tensors[tensor].tensor.unchanged(), list == kGrad) << kListNames[list] << index;
    ASSERT_EQ(set(executor_, ir_index, index, list_->get(), memory(tensor)), 0);
  }
  void expect_refused(int status, int code, const std::string& function,
                      const std::vector<std::string>& sentence) {
    EXPECT_EQ(status, code);
    EXPECT_TRUE(is_error_line(take_error_text(), function, code, sentence));
  }

  Launch launch_, other_;
  std::vector<Descriptor> descriptors_;
  std::unique_ptr<TensorList> list_;
  aclOpExecutor* executor_ = nullptr;
};

// Inputs: grads 0, varRefs 1 … sRefs 4, step 5, gradScale 6, foundInf 7; outputs from 8 on: varRefs … sRefs, varCopies.
TEST_F(EmaAdamListAddresses, EveryElementIsReachedThroughEveryIndexSpace) {
  for (size_t index = 0; index < 2; ++index) {
    for (const SetElement set : {aclSetDynamicTensorAddr, AclSetDynamicTensorAddr}) {
      for (size_t list = kGrad; list < kCopy; ++list) expect_reached(set, list, list, index);
      for (size_t list = kVar; list <= kCopy; ++list) expect_reached(set, 7 + list, list, index);
    }
    for (const SetElement set : {aclSetDynamicInputTensorAddr, AclSetDynamicInputTensorAddr}) {
      for (size_t list = kGrad; list < kCopy; ++list) expect_reached(set, list, list, index);
    }
    for (const SetElement set : {aclSetDynamicOutputTensorAddr, AclSetDynamicOutputTensorAddr}) {
      for (size_t list = kVar; list <= kCopy; ++list) expect_reached(set, list - 1, list, index);
    }
  }
}

TEST_F(EmaAdamListAddresses, TensorsAreSetByTheOtherFunctions) {
  const size_t found_inf = launch_.tensors.size() - 1;
  float skip = 1;
  for (const auto& [set, index] :
       {std::pair<SetTensor, size_t>{aclSetTensorAddr, 7}, {aclSetInputTensorAddr, 7}}) {
    launch_ = remembering(std::move(launch_));
    ASSERT_EQ(set(executor_, index, descriptors_[found_inf].get(), &skip), 0);
    ASSERT_EQ(run(), 0);
    for (const LaunchTensor& t : launch_.tensors) EXPECT_TRUE(t.tensor.unchanged()) << t.name;
    ASSERT_EQ(set(executor_, index, descriptors_[found_inf].get(), memory(found_inf)), 0);
  }
  // A list where a tensor is expected, and vice versa.
  expect_refused(aclSetTensorAddr(executor_, 1, descriptors_[0].get(), nullptr), kInvalid, "aclSetTensorAddr",
                 {"index is 1, which is varRefs, a list", "aclSetDynamicTensorAddr"});
  expect_refused(aclSetDynamicTensorAddr(executor_, 5, 0, list_->get(), nullptr), kInvalid,
                 "aclSetDynamicTensorAddr", {"irIndex is 5, which is step, not a list", "aclSetTensorAddr"});
}

TEST_F(EmaAdamListAddresses, WhatIsRefusedChangesNothing) {
  const std::string name = "aclSetDynamicTensorAddr";
  const auto set = [&](aclOpExecutor* executor, size_t ir_index, size_t index, aclTensorList* list) {
    return aclSetDynamicTensorAddr(executor, ir_index, index, list, nullptr);
  };
  expect_refused(set(nullptr, 1, 0, list_->get()), 561103, name, {"executor is NULL"});
  expect_refused(set(executor_, 1, 0, nullptr), 561103, name, {"tensors is NULL"});
  expect_refused(set(reinterpret_cast<aclOpExecutor*>(list_->get()), 1, 0, list_->get()), 561000, name,
                 {"executor is not live"});
  expect_refused(set(executor_, 1, 0, reinterpret_cast<aclTensorList*>(executor_)), kInvalid, name,
                 {"tensors is not live"});
  expect_refused(set(executor_, 13, 0, list_->get()), kInvalid, name, {"irIndex is 13", "below 13"});
  expect_refused(set(executor_, SIZE_MAX, 0, list_->get()), kInvalid, name, {"below 13"});
  expect_refused(aclSetDynamicInputTensorAddr(executor_, 8, 0, list_->get(), nullptr), kInvalid,
                 "aclSetDynamicInputTensorAddr", {"irIndex is 8", "8 input", "below 8"});
  expect_refused(aclSetDynamicOutputTensorAddr(executor_, 5, 0, list_->get(), nullptr), kInvalid,
                 "aclSetDynamicOutputTensorAddr", {"irIndex is 5", "5 output", "below 5"});
  for (const size_t index : {size_t{2}, SIZE_MAX}) {
    expect_refused(set(executor_, 1, index, list_->get()), kInvalid, name,
                   {"relativeIndex is " + std::to_string(index), "varRefs was planned with 2 tensors"});
  }
  const int64_t dim = 1;
  aclTensor* short_lived[] = {
      aclCreateTensor(&dim, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr)};
  aclTensorList* const list = aclCreateTensorList(short_lived, 1);
  expect_refused(set(executor_, 1, 1, list), kInvalid, name, {"relativeIndex is 1", "tensors holds 1"});
  aclDestroyTensor(short_lived[0]);
  expect_refused(set(executor_, 1, 0, list), kInvalid, name, {"tensors[0] is not live"});
  aclDestroyTensorList(list);
  EXPECT_EQ(run(), 0) << take_error_text();
}

// A task keeps the addresses with which it was enqueued. A later invalid address is detected although earlier
// ones passed.
TEST_F(EmaAdamListAddresses, EachRunTakesASnapshotAndIsChecked) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  {
    runtime_test::Gate gate;
    ASSERT_EQ(gate.enqueue(stream), 0);
    ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor_, stream), 0);
    ASSERT_EQ(aclSetDynamicTensorAddr(executor_, kVar, 1, list_->get(), nullptr), 0);
    EXPECT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor_, stream), kNull);
    EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kNull, {"varRefs[1] has a NULL data address"}));
    gate.open();
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  }
  EXPECT_FALSE(launch_.tensors[at(kVar, 1)].tensor.unchanged());
  ASSERT_EQ(aclSetDynamicTensorAddr(executor_, kVar, 1, list_->get(), memory(at(kM, 1))), 0);
  EXPECT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor_, stream), kInvalid);
  EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kInvalid, {"varRefs[1] overlaps mRefs[1]"}));
  ASSERT_EQ(aclSetDynamicTensorAddr(executor_, kVar, 1, list_->get(), memory(at(kVar, 1))), 0);
  ASSERT_EQ(run(), 0);
  ASSERT_EQ(aclSetTensorAddr(executor_, 7, descriptors_.back().get(), nullptr), 0);
  EXPECT_EQ(run(), kNull);
  EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kNull, {"has a NULL data address"}));
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
}

// The caller may reuse the source of a copy at once, unless an unfinished task writes to it: then the copy
// waits for the task. In this test the task is running and blocked at the gate in its first gradient. The
// second index makes it too large to run at once.
TEST(EmaAdamListPhase2, CopiesWaitForWhatRunningTasksWrite) {
  use_device();
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  ListCall list({{{8}}, {{10000}}}, false);
  Random random(test_seed());
  list.fill_ordinary(random);
  {
    runtime_test::Gate gate;
    list(kGrad, 0) = placed_at(list(kGrad, 0), list(kGrad, 0), gate.memory());
    std::vector<Descriptor> descriptors;
    std::vector<aclTensor*> handles;
    for (const HostTensor& tensor : list.tensors()) {
      descriptors.push_back(tensor.describe());
      handles.push_back(descriptors.back().get());
    }
    ListForm form = list.form();
    form.attributes = kAttributes;
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(ema_list_phase1(form)(handles, &bytes, &executor), 0);
    ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, stream), 0);
    gate.wait_until_reached();
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
    const std::vector<uint64_t> before = list(kS, 0).all_bits();
    HostTensor copy(ACL_FLOAT, {8});
    EXPECT_EQ(aclrtMemcpyAsync(copy.data(), 32, list(kS, 0).data(), 32, ACL_MEMCPY_HOST_TO_DEVICE, stream),
              0);
    opener.join();
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_NE(copy.all_bits(), before);
    EXPECT_EQ(copy.all_bits(), list(kS, 0).all_bits());
  }
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
}

// foundInf and gradScale are read when the task runs, not when it is enqueued.
TEST_F(EmaAdamListAddresses, NumbersAreReadInStreamOrder) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  HostTensor& found_inf = launch_.tensors.back().tensor;
  {
    runtime_test::Gate gate;
    ASSERT_EQ(gate.enqueue(stream), 0);
    ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor_, stream), 0);
    found_inf.set(0, 1);
    gate.open();
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  }
  found_inf.set(0, 0);
  for (const LaunchTensor& t : launch_.tensors) EXPECT_TRUE(t.tensor.unchanged()) << t.name;
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(EmaAdamListSettings, Strict) {
  expect_suite_passes("EmaAdamListStrict", {{"OPENACLNN_CHECK", "strict"}});
}
TEST(EmaAdamListSettings, Silent) {
  expect_suite_passes("EmaAdamListNotStrict", {{"OPENACLNN_CHECK", "silent"}});
}
TEST(EmaAdamListSettings, Report) {
  expect_suite_passes("EmaAdamListNotStrict", {{"OPENACLNN_CHECK", "report"}});
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};
const std::vector<IndexCase> kIndices = {{{3000}, ACL_BF16}, {{7, 9}}};

PROCESS_TEST(EmaAdamListStrict, StepBelowOneIsAFaultUnlessTheStepIsSkipped) {
  use_device();
  Random random(test_seed());
  for (const int64_t t : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ListCall list(kIndices, true, {.t = t, .found_inf = 0.0f}, Placement::library);
    list.fill_ordinary(random);
    list.remember();
    EXPECT_TRUE(failed_in_phase2(list.run(kAttributes, kLibraryMemory), kListPhase2, 507035,
                                 {"step is " + std::to_string(t), "at least 1"}));
    EXPECT_TRUE(list.unchanged());
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
    ListCall skipped(kIndices, true, {.t = t, .found_inf = 1.0f}, Placement::library);
    EXPECT_TRUE(succeeded(skipped.run(kAttributes, kLibraryMemory)));
  }
}

PROCESS_TEST(EmaAdamListStrict, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  expect_unknown_memory_refused(list_launch(2, true, kAttributes, Placement::library));
}

// Memory that was freed between two runs of one executor is detected, although its address passed before.
PROCESS_TEST(EmaAdamListStrict, ChecksBlocksInEveryRun) {
  use_device();
  Launch launch = list_launch(1, false, kAttributes, Placement::library);
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  std::vector<Descriptor> descriptors;
  std::vector<aclTensor*> handles;
  for (const LaunchTensor& t : launch.tensors) {
    const HostTensor placed =
        descriptors.size() == kM ? placed_at(t.tensor, t.tensor, block) : t.tensor.alias();
    descriptors.push_back(placed.describe());
    handles.push_back(descriptors.back().get());
  }
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(launch.phase1(handles, &bytes, &executor), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, nullptr), 0) << take_error_text();
  ASSERT_EQ(aclrtFree(block), 0);
  EXPECT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, nullptr), kInvalid);
  EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kInvalid, {"mRefs[0] needs 256 bytes"}));
  ASSERT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

PROCESS_TEST(EmaAdamListNotStrict, StepBelowOneFollowsIeee) {
  Random random(test_seed());
  for (const int64_t t : {int64_t{0}, int64_t{-5}}) {
    ListCall list(kIndices, true, {.t = t});
    list.fill_ordinary(random);
    EXPECT_TRUE(list.run_and_compare(kAttributes));
  }
}

}  // namespace
}  // namespace openaclnn_test
