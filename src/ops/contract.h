// The interface that every operator's room implements, and the frame of its two entry points.
//
// A room has: Args (the arguments), check(Args) in the order of require.h, Plan (trivially copyable data that
// the kernel reads), plan(Args) which makes a Call, and a kernel. check and plan are pure functions of Args
// and a PlanContext: they access no tensor data, device, stream or setting. arguments.h fills Args.
#pragma once

#include <cstdint>
#include <cstring>
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
#include "ops/arguments.h"
#include "ops/plan_items.h"
#include "runtime/call.h"
#include "runtime/call_record.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/guard.h"
#include "runtime/launch.h"
#include "runtime/recorder.h"
#include "runtime/recycle.h"

namespace openaclnn {

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

// Rooms whose checks and plan share work overload this for their Args.
template <class Args>
Result<Call> check_and_plan(const Args& args, const PlanContext& context) {
  OPENACLNN_TRY(check(args, context));
  return plan(args, context);
}

// Checks the output pointers, plans the call and makes the executor. On failure both output values stay
// unchanged.
template <class Args, class Signature>
Status run_phase1(const char* function, uint64_t* workspace_bytes, aclOpExecutor** executor,
                  const Signature& signature, const std::shared_ptr<const CallRecord>& record) {
  if (workspace_bytes == nullptr) {
    return {ACLNN_ERR_PARAM_NULLPTR, "workspaceSize is NULL; pass the address of a uint64_t"};
  }
  if (executor == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "executor is NULL; pass the address of an aclOpExecutor*"};
  const PlanContext context = plan_context();
  Args args = {};
  OPENACLNN_TRY(look_up_all(signature, args));
  OPENACLNN_TRY_ASSIGN(call, check_and_plan(args, context));
  call.phase1 = function;
  if (record != nullptr) [[unlikely]]
    call.record = record;
  const uint64_t required = call.workspace_bytes;
  OPENACLNN_TRY_ASSIGN(made, make_executor(std::move(call)));
  *workspace_bytes = required;
  *executor = made;
  return {};
}

// Phase 1. `signature` lists the arguments, see arguments.h.
template <class Args, class Signature>
aclnnStatus phase1(const char* function, uint64_t* workspace_bytes, aclOpExecutor** executor,
                   const Signature& signature) noexcept {
  return guard(function, kMetaWall, [&]() -> Status {
    std::shared_ptr<const CallRecord> record;
    if (is_recording()) [[unlikely]]
      record = make_record<Args>(function, signature);
    Status status = run_phase1<Args>(function, workspace_bytes, executor, signature, record);
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
