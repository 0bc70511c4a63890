// Runs phase 2 of a described call, with any arguments.
#include "support/phase2_launch.h"

#include <span>
#include <thread>
#include <utility>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/random.h"

namespace openaclnn_test {

namespace {

std::vector<const HostTensor*> pointers_to(const std::vector<HostTensor>& tensors) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

struct Planned {
  aclnnStatus status = kNotCalled;
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
};

Planned plan_launch(const Launch& launch, const std::vector<HostTensor>& tensors) {
  Planned planned;
  std::vector<Descriptor> descriptors;
  std::vector<aclTensor*> handles;
  for (const HostTensor& tensor : tensors) {
    descriptors.push_back(tensor.describe());
    handles.push_back(descriptors.back().get());
  }
  planned.status = launch.phase1(handles, &planned.workspace_bytes, &planned.executor);
  return planned;
}

// An executor that the operator under test must not run, of an empty call of one of two operators.
aclOpExecutor* executor_of_another_operator(const Launch& launch) {
  const int64_t dims[] = {0, 0};
  const int64_t one[] = {1};
  const auto tensor = [](std::span<const int64_t> shape, aclDataType dtype) {
    return Descriptor(aclCreateTensor(shape.data(), shape.size(), dtype, nullptr, 0, ACL_FORMAT_ND,
                                      shape.data(), shape.size(), nullptr));
  };
  const Descriptor table = tensor(dims, ACL_FLOAT), number = tensor(one, ACL_INT64);
  const Descriptor rows = tensor(std::span(dims).first(1), ACL_INT64);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (launch.phase2 == aclnnApplyFusedEmaAdam) {
    aclnnEmbeddingGetWorkspaceSize(table.get(), rows.get(), table.get(), &bytes, &executor);
  } else {
    aclTensor* const t = table.get();
    aclnnApplyFusedEmaAdamGetWorkspaceSize(t, t, t, t, t, number.get(), 0, 0, 0, 0, 0, 0, false, 0, &bytes,
                                           &executor);
  }
  return executor;
}

}  // namespace

int64_t bytes_of(const HostTensor& tensor) { return tensor.numel() * element_bytes(tensor.dtype()); }

HostTensor placed_at(const HostTensor& tensor, const HostTensor& memory, void* address) {
  return HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), memory, address);
}
HostTensor moved(const HostTensor& tensor, int64_t bytes) {
  return placed_at(tensor, tensor, static_cast<std::byte*>(tensor.data()) + bytes);
}

Launch make_launch(const char* function, const Case& made, Placement placement) {
  use_device();  // library memory belongs to a device
  Launch launch;
  launch.function = function;
  launch.phase1 = made.phase1;
  launch.phase2 = made.phase2;
  std::vector<HostTensor> tensors = make_tensors(made, placement);
  for (size_t k = 0; k < tensors.size(); ++k) {
    launch.tensors.push_back({made.tensors[k].name, made.tensors[k].role, std::move(tensors[k])});
  }
  return launch;
}

Launch with_aliasing(Launch launch, const Description& description) {
  for (LaunchTensor& tensor : launch.tensors) {
    const std::string name = tensor.name.substr(0, tensor.name.find('['));  // of the list
    tensor.may_equal_output = description.find(name)->may_equal_output;
  }
  return launch;
}

LaunchTensor input_tensor(const char* name, aclDataType dtype, const Shape& dims, Placement placement) {
  use_device();
  LaunchTensor made = {name, Role::input, HostTensor(dtype, dims, Layout::contiguous, placement)};
  Random random(hash_text(name));
  for (int64_t i = 0; i < made.tensor.numel(); ++i) made.tensor.set(i, random.signed_magnitude(-6, 2));
  return made;
}
LaunchTensor output_tensor(const char* name, aclDataType dtype, const Shape& dims, Placement placement) {
  use_device();
  return {name, Role::output, HostTensor(dtype, dims, Layout::contiguous, placement)};
}

Launch not_accessing(Launch launch, const std::vector<size_t>& tensors) {
  for (const size_t k : tensors) launch.tensors[k].is_accessed = false;
  return launch;
}

Launch copy_of(const Launch& launch) {
  Launch copy = launch;
  for (LaunchTensor& t : copy.tensors) {
    if (t.tensor.data() != nullptr) t.tensor = t.tensor.copy(Layout::contiguous);
  }
  return copy;
}

Outcome run_launch(const Launch& launch, Placement workspace) {
  const std::vector<HostTensor> tensors = valid_arguments(launch, nullptr, 0).tensors;
  return run_operator(pointers_to(tensors), launch.phase1, launch.phase2, {.workspace = workspace});
}

LaunchArguments valid_arguments(const Launch& launch, void* workspace, uint64_t workspace_bytes) {
  LaunchArguments arguments;
  arguments.workspace = workspace;
  arguments.workspace_bytes = workspace_bytes;
  for (const LaunchTensor& t : launch.tensors) arguments.tensors.push_back(t.tensor.alias());
  return arguments;
}

Outcome run_arguments(const Launch& launch, const LaunchArguments& arguments) {
  using Executor = LaunchArguments::Executor;
  use_device();
  take_error_text();
  Outcome outcome;
  const Planned planned = plan_launch(launch, arguments.tensors);
  outcome.phase1 = planned.status;
  outcome.workspace_bytes = planned.workspace_bytes;
  aclOpExecutor* executor = planned.executor;
  const bool uses_plan = arguments.executor == Executor::planned;
  if (planned.status == 0 && !uses_plan) aclDestroyAclOpExecutor(executor);
  if (arguments.executor == Executor::null) executor = nullptr;
  if (arguments.executor == Executor::foreign_bits)
    executor = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x123456789ABCDEF0});
  if (arguments.executor == Executor::of_another_operator) executor = executor_of_another_operator(launch);
  if (outcome.phase1 != 0) {
    outcome.error = take_error_text();
    return outcome;
  }

  const auto run = [&] {
    take_error_text();
    outcome.phase2 =
        launch.phase2(arguments.workspace, arguments.workspace_bytes, executor, arguments.stream);
    if (outcome.phase2 == 0) outcome.sync = aclrtSynchronizeStream(nullptr);
    outcome.error = take_error_text();
  };
  if (arguments.has_context) {
    run();
  } else {
    std::thread(run).join();  // a new thread has none
  }
  // A live executor is consumed, whatever phase 2 returned.
  if (executor != nullptr) {
    EXPECT_EQ(launch.phase2(arguments.workspace, arguments.workspace_bytes, executor, nullptr), 561000);
    take_error_text();
  }
  return outcome;
}

uint64_t required_workspace(const Launch& launch) {
  use_device();
  const Planned planned = plan_launch(launch, valid_arguments(launch, nullptr, 0).tensors);
  EXPECT_EQ(planned.status, 0) << take_error_text();
  if (planned.status == 0) aclDestroyAclOpExecutor(planned.executor);
  return planned.workspace_bytes;
}

Launch remembering(Launch launch) {
  for (LaunchTensor& t : launch.tensors) t.tensor.remember();
  return launch;
}

::testing::AssertionResult refused(const Launch& launch, const LaunchArguments& arguments, int code,
                                   const std::vector<std::string>& sentence) {
  auto found = failed_in_phase2(run_arguments(launch, arguments), launch.function, code, sentence);
  for (const LaunchTensor& t : launch.tensors) {
    if (!t.tensor.unchanged()) return ::testing::AssertionFailure() << t.name << " was written to";
  }
  return found;
}

}  // namespace openaclnn_test
