// The interface that every operator's room implements, and the frame of its two entry points.
//
// A room has: Args (the arguments), check(Args) in the order of require.h, Plan (trivially copyable data that
// the kernel reads), plan(Args) which makes a Call, and a kernel. check and plan are pure functions of Args
// and a PlanContext: they access no tensor data, device, stream or setting.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "base/check_mode.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "ops/plan_items.h"
#include "runtime/call.h"
#include "runtime/call_record.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/guard.h"
#include "runtime/launch.h"
#include "runtime/recorder.h"
#include "runtime/recycle.h"
#include "runtime/tensor.h"

namespace openaclnn {

// Returns 161002 with the pieces as its error message.
template <class... Pieces>
[[gnu::cold]] Status invalid(const Pieces&... pieces) {
  return {ACLNN_ERR_PARAM_INVALID, text(pieces...)};
}

// The data that check and plan use in addition to the arguments. Phase 1 makes it once per call. The defaults
// are a CPU and the default settings.
struct PlanContext {
  PlatformKind platform = PlatformKind::cpu;  // for platform-specific workspace layouts
  CheckMode check = CheckMode::report;
  bool vendor_limits = false;

  bool on_gpu() const { return platform == PlatformKind::cuda; }
};

// Returns the context of this process. The first call selects the platform.
PlanContext plan_context();

// One tensor argument as phase 1 received it.
struct Argument : TensorDescription {
  const char* name = "";
  bool is_given = false;  // false for an optional tensor whose handle is NULL

  aclDataType dtype() const { return view.dtype; }
};

// A handle with its name in error messages.
struct NamedTensor {
  const char* name;
  const aclTensor* handle;
};

// The failures of the two functions below, which every call uses for each tensor: they are short and inline.
[[gnu::cold]] Status not_given(const char* name);
[[gnu::cold]] Status not_live(const NamedTensor& tensor);

// Checks that no required tensor is NULL.
inline Status require_given(std::initializer_list<NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.handle == nullptr) return not_given(tensor.name);
  }
  return {};
}

// Checks that the handle is live and sets `argument` to its description. NULL means an optional tensor that
// is not given.
inline Status look_up(const NamedTensor& tensor, Argument& argument) {
  argument.name = tensor.name;
  argument.is_given = tensor.handle != nullptr;
  if (!argument.is_given) return {};
  // Copied: this is faster than sharing the descriptor with a thread that destroys it.
  TensorDescription& description = argument;
  if (TensorTable::instance().read(tensor.handle, description)) [[likely]]
    return {};
  return not_live(tensor);
}

// The same for a host array. NULL leaves `array` empty.
using IntArray = std::shared_ptr<const Array<int64_t>>;
Status look_up(const char* name, const aclIntArray* handle, IntArray& array);

// Checks that no tensor is NULL, then that all are live: for tensors that are all required, in the order of
// the signature.
template <size_t kCount>
Status resolve(const std::array<NamedTensor, kCount>& tensors,
               const std::array<Argument*, kCount>& arguments) {
  for (const NamedTensor& tensor : tensors) OPENACLNN_TRY(require_given({tensor}));
  for (size_t k = 0; k < kCount; ++k) OPENACLNN_TRY(look_up(tensors[k], *arguments[k]));
  return {};
}

// Checks the output pointers, calls make(PlanContext) -> Result<Call> and makes the executor. On failure both
// output values stay unchanged.
template <class Make>
Status run_phase1(const char* function, uint64_t* workspace_bytes, aclOpExecutor** executor, const Make& make,
                  const std::shared_ptr<const CallRecord>& record) {
  if (workspace_bytes == nullptr) {
    return {ACLNN_ERR_PARAM_NULLPTR, "workspaceSize is NULL; pass the address of a uint64_t"};
  }
  if (executor == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "executor is NULL; pass the address of an aclOpExecutor*"};
  OPENACLNN_TRY_ASSIGN(call, make(plan_context()));
  call.phase1 = function;
  if (record != nullptr) [[unlikely]]
    call.record = record;
  const uint64_t required = call.workspace_bytes;
  OPENACLNN_TRY_ASSIGN(made, make_executor(std::move(call)));
  *workspace_bytes = required;
  *executor = made;
  return {};
}

// Copies the captured arguments, so that they have no address and calls that are not recorded keep them in
// registers.
template <class RecordArguments>
[[gnu::noinline, gnu::cold]] std::shared_ptr<const CallRecord> make_record(const char* function,
                                                                           RecordArguments arguments) {
  const auto record = std::make_shared<CallRecord>(function);
  arguments(*record);
  return record;
}

// Phase 1. `record_arguments` passes all arguments to a CallRecord, in the order of the signature. It is
// called only if calls are recorded. Both functions capture by value.
template <class Make, class RecordArguments>
aclnnStatus phase1(const char* function, uint64_t* workspace_bytes, aclOpExecutor** executor,
                   const Make& make, const RecordArguments& record_arguments) noexcept {
  return guard(function, kMetaWall, [&]() -> Status {
    std::shared_ptr<const CallRecord> record;
    if (is_recording()) [[unlikely]]
      record = make_record(function, record_arguments);
    Status status = run_phase1(function, workspace_bytes, executor, make, record);
    if (record != nullptr) [[unlikely]]
      record_phase1(*record, status);
    return status;
  });
}

// Phase 2.
inline aclnnStatus phase2(const char* function, const Operator& op, void* workspace, uint64_t workspace_bytes,
                          aclOpExecutor* executor, aclrtStream stream) noexcept {
  return guard(function, kLaunchWall,
               [&] { return launch(function, op, workspace, workspace_bytes, executor, stream); });
}

// How a call uses a parameter.
enum class Role { input, output, reference };

// Adds a tensor argument to the parameters of a call, and what accessing it costs to the call's work. Empty
// tensors are never accessed, and none is if `nothing_to_do` is set, which must be known before. The reference
// is valid until the next parameter is added.
Parameter& add_tensor(Call& call, const Argument& argument, Role role, bool is_accessed = true);
// The same for the first element of an input of any shape: the number at data + offset.
Parameter& add_number(Call& call, const Argument& argument, bool is_accessed = true);

// Plans are shared by the executor and its queued tasks, and are passed to the CUDA plugin.
template <class Plan>
std::shared_ptr<const void> share_plan(const Plan& plan) {
  static_assert(std::is_trivially_copyable_v<Plan>);
  return make_recycled<const Plan>(plan);
}

// A plan followed by lists whose lengths only phase 1 knows, in one block of memory. plan_items() returns the
// first list.
template <class Plan, class... Items>
std::shared_ptr<const void> share_plan(const Plan& plan, std::span<const Items>... lists) {
  static_assert(std::is_trivially_copyable_v<Plan> && (std::is_trivially_copyable_v<Items> && ...));
  static_assert(((sizeof(Plan) % alignof(Items) == 0) && ...));
  static_assert(alignof(Plan) <= alignof(std::max_align_t));
  const auto memory = make_recycled<RecycledVector<std::byte>>();
  memory->reserve(sizeof(Plan) + (lists.size_bytes() + ...));
  const auto append = [&](std::span<const std::byte> bytes) {
    memory->insert(memory->end(), bytes.begin(), bytes.end());
  };
  append(std::as_bytes(std::span(&plan, 1)));
  (append(std::as_bytes(lists)), ...);
  return {memory, memory->data()};
}

}  // namespace openaclnn
