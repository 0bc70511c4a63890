// Tests the memory of phase 2: the memory it accepts besides its own and instead of it, and the memory that
// strict mode rejects.
#include <algorithm>
#include <span>

#include "support/expect.h"
#include "support/phase2_mistakes.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

using Contents = std::vector<std::vector<std::byte>>;

// The results of the call in each tensor.
Contents results_of(const Launch& launch) {
  const Launch fresh = copy_of(launch);
  EXPECT_TRUE(succeeded(run_launch(fresh)));
  Contents results;
  for (const LaunchTensor& t : fresh.tensors)
    results.push_back(t.tensor.data() != nullptr ? t.tensor.all_bytes() : std::vector<std::byte>());
  return results;
}

}  // namespace

void expect_only_needed_memory_matters(const Launch& launch) {
  const Contents wanted = results_of(launch);
  const uint64_t required = required_workspace(launch);
  const GuardedBuffer workspace(required);
  for (void* const nowhere : {static_cast<void*>(nullptr), reinterpret_cast<void*>(3)}) {
    const Launch fresh = copy_of(launch);
    LaunchArguments arguments = valid_arguments(fresh, required > 0 ? workspace.data() : nowhere, UINT64_MAX);
    for (size_t k = 0; k < fresh.tensors.size(); ++k) {
      if (!fresh.tensors[k].is_accessed)
        arguments.tensors[k] = placed_at(arguments.tensors[k], arguments.tensors[k], nowhere);
    }
    EXPECT_TRUE(succeeded(run_arguments(fresh, arguments)));
    for (size_t k = 0; k < fresh.tensors.size(); ++k) {
      const LaunchTensor& t = fresh.tensors[k];
      if (!t.is_accessed) continue;
      EXPECT_EQ(t.tensor.all_bytes(), wanted[k]) << t.name;
      EXPECT_TRUE(t.tensor.gaps_intact()) << t.name;
    }
    EXPECT_TRUE(workspace.margins_intact());
  }
}

void expect_neighbours_work(const Launch& launch) {
  const Contents wanted = results_of(launch);
  const auto required = static_cast<int64_t>(required_workspace(launch));
  int64_t total = required;
  for (const LaunchTensor& t : launch.tensors) total += bytes_of(t.tensor);
  // The workspace comes first, with more than the required bytes.
  const HostTensor memory(ACL_INT8, {(total + 7) / 8 * 8});
  std::byte* place = static_cast<std::byte*>(memory.data()) + (total + 7) / 8 * 8 - total + required;
  LaunchArguments arguments = valid_arguments(launch, place - required, UINT64_MAX);
  for (HostTensor& tensor : arguments.tensors) {
    const std::vector<std::byte> contents = tensor.all_bytes();
    tensor = placed_at(tensor, memory, place);
    std::copy(contents.begin(), contents.end(), place);
    place += contents.size();
  }
  EXPECT_TRUE(succeeded(run_arguments(launch, arguments)));
  for (size_t k = 0; k < launch.tensors.size(); ++k)
    EXPECT_EQ(arguments.tensors[k].all_bytes(), wanted[k]) << launch.tensors[k].name;
}

namespace {

using Setter = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
struct Update {
  Setter set;
  const char* function;
  bool inputs, outputs;  // the parameters that it counts, in this order
};

// Sets the address of every parameter that `update` counts, and tries the index after the last one.
void set_addresses(const Update& update, const Launch& launch, std::span<aclTensor* const> handles,
                   aclOpExecutor* executor) {
  size_t index = 0;
  for (const Role other : {Role::output, Role::input}) {
    if (!(other == Role::output ? update.inputs : update.outputs)) continue;
    for (size_t k = 0; k < launch.tensors.size(); ++k) {
      if (launch.tensors[k].role == other) continue;
      EXPECT_EQ(update.set(executor, index++, handles[k], launch.tensors[k].tensor.data()), 0)
          << take_error_text();
    }
  }
  take_error_text();
  EXPECT_EQ(update.set(executor, index, handles[0], nullptr), 161002);
  EXPECT_TRUE(is_error_line(take_error_text(), update.function, 161002,
                            {"index is " + std::to_string(index) + ";", "must be below"}));
}

}  // namespace

void expect_address_updates_work(const Launch& launch) {
  const Contents wanted = results_of(launch);
  const std::vector<Update> ways[] = {{{aclSetTensorAddr, "aclSetTensorAddr", true, true}},
                                      {{aclSetInputTensorAddr, "aclSetInputTensorAddr", true, false},
                                       {aclSetOutputTensorAddr, "aclSetOutputTensorAddr", false, true}}};
  std::vector<Descriptor> tensors;  // phase 1 gets no addresses
  std::vector<aclTensor*> handles;
  for (const LaunchTensor& t : launch.tensors) {
    tensors.push_back(placed_at(t.tensor, t.tensor, nullptr).describe());
    handles.push_back(tensors.back().get());
  }
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(launch.phase1(handles, &workspace_bytes, &executor), 0) << take_error_text();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  EXPECT_TRUE(failed_in_phase2(run_phase2(launch.phase2, executor, workspace_bytes), launch.function, 161001,
                               {launch.tensors[0].name, "NULL data address"}));
  for (const std::vector<Update>& way : ways) {
    const Launch fresh = copy_of(launch);
    for (const Update& update : way) set_addresses(update, fresh, handles, executor);
    EXPECT_TRUE(succeeded(run_phase2(launch.phase2, executor, workspace_bytes)));
    for (size_t k = 0; k < fresh.tensors.size(); ++k)
      EXPECT_EQ(fresh.tensors[k].tensor.all_bytes(), wanted[k]) << fresh.tensors[k].name;
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

void expect_unknown_memory_refused(const Launch& valid) {
  const Launch launch = remembering(valid);
  const uint64_t required = required_workspace(launch);
  const GuardedBuffer workspace(required, Placement::library), foreign_workspace(required);
  for (size_t k = 0; k < launch.tensors.size(); ++k) {
    const LaunchTensor& t = launch.tensors[k];
    if (!t.is_accessed) continue;
    const std::vector<std::string> sentence = {std::string(t.name) + " needs ", "no live block of",
                                               "aclrtMalloc"};
    LaunchArguments foreign = valid_arguments(launch, workspace.data(), required);
    foreign.tensors[k] = t.tensor.copy(Layout::contiguous);
    EXPECT_TRUE(refused(launch, foreign, 161002, sentence)) << "foreign memory";
    LaunchArguments freed = valid_arguments(launch, workspace.data(), required);
    void* const address =
        HostTensor(t.tensor.dtype(), t.tensor.dims(), Layout::contiguous, Placement::library).data();
    freed.tensors[k] = placed_at(t.tensor, t.tensor, address);
    EXPECT_TRUE(refused(launch, freed, 161002, sentence)) << "freed memory";
    // Known memory, but the view starts before its block: by one element, which no other tensor's elements
    // can reach.
    if (t.tensor.numel() < 2) continue;
    LaunchArguments leaving = valid_arguments(launch, workspace.data(), required);
    leaving.tensors[k] = moved(t.tensor, -element_bytes(t.tensor.dtype()));
    // The bytes before a block may belong to another one.
    EXPECT_TRUE(refused(launch, leaving, 161002, {sentence[0], "block"})) << "a view that leaves its block";
  }
  if (required == 0) return;
  EXPECT_TRUE(refused(launch, valid_arguments(launch, foreign_workspace.data(), required), 161002,
                      {"workspace needs ", "no live block of"}))
      << "workspace";
}

}  // namespace openaclnn_test
