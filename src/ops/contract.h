// What every operator's room provides, and the frame of its two entry points.
//
// A room has: Args (what came in), check(Args) in the order of the specification, Plan (trivially copyable data that the
// kernel reads), plan(Args) which makes a Call, and a kernel. check and plan are pure: they touch no tensor data, no device
// and no stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/executor.h"
#include "runtime/guard.h"
#include "runtime/tensor.h"

namespace openaclnn {

// One tensor argument as phase 1 got it. `view` is complete once the rank was found to be at most kMaxRank.
struct Argument {
  const char* name = "";
  aclFormat format = ACL_FORMAT_UNDEFINED;
  uint64_t rank = 0;
  TensorView view;

  aclDataType dtype() const { return view.dtype; }
};

// A handle with the name that error sentences use.
struct NamedTensor {
  const char* name;
  const aclTensor* handle;
};

// V2 then V3 for required tensors, in signature order; `arguments` receives what the handles describe.
template <size_t kCount>
Status resolve(const std::array<NamedTensor, kCount>& tensors,
               const std::array<Argument*, kCount>& arguments) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.handle == nullptr) {
      return {ACLNN_ERR_PARAM_NULLPTR, text(tensor.name, " is NULL; a tensor is required")};
    }
  }
  for (size_t k = 0; k < kCount; ++k) {
    const std::shared_ptr<const Tensor> tensor = TensorTable::instance().find(tensors[k].handle);
    if (tensor == nullptr) {
      return {ACLNN_ERR_PARAM_INVALID,
              text(tensors[k].name, " is not a live tensor: it was destroyed, or is another kind of handle")};
    }
    Argument& argument = *arguments[k];
    argument.name = tensors[k].name;
    argument.format = tensor->format;
    argument.rank = tensor->dims.size();
    argument.view = view_of(*tensor);
  }
  return {};
}

// Phase 1: V1, then make() -> Result<Call>, then the executor. On failure both out values stay untouched.
template <class Make>
aclnnStatus phase1(const char* function, uint64_t* workspace_bytes, aclOpExecutor** executor,
                   Make&& make) noexcept {
  return guard(function, kMetaWall, [&]() -> Status {
    if (workspace_bytes == nullptr) {
      return {ACLNN_ERR_PARAM_NULLPTR, "workspaceSize is NULL; pass the address of a uint64_t"};
    }
    if (executor == nullptr)
      return {ACLNN_ERR_PARAM_NULLPTR, "executor is NULL; pass the address of an aclOpExecutor*"};
    Result<Call> call = make();
    if (!call.ok()) return call.status();
    const uint64_t required = call->workspace_bytes;
    Result<aclOpExecutor*> made = make_executor(std::move(*call));
    if (!made.ok()) return made.status();
    *workspace_bytes = required;
    *executor = *made;
    return {};
  });
}

// Phase 2.
inline aclnnStatus phase2(const char* function, const Operator& op, void* workspace, uint64_t workspace_bytes,
                          aclOpExecutor* executor, aclrtStream stream) noexcept {
  return guard(function, kLaunchWall,
               [&] { return launch(op, workspace, workspace_bytes, executor, stream); });
}

// How a parameter takes part in a call.
enum class Use { input, output, reference };

inline Parameter parameter(const Argument& argument, Use use) {
  Parameter made;
  made.name = argument.name;
  made.view = argument.view;
  made.is_input = use != Use::output;
  made.is_output = use != Use::input;
  made.is_accessed = !argument.view.is_empty();
  if (!made.is_accessed)
    made.view.offset = 0;  // any offset is legal there; kernels still compute a base address
  return made;
}

// Plans are shared by the executor and the tasks it queued, and may one day cross the border to a device plugin.
template <class Plan>
std::shared_ptr<const void> share_plan(const Plan& plan) {
  static_assert(std::is_trivially_copyable_v<Plan>);
  return std::make_shared<const Plan>(plan);
}

}  // namespace openaclnn
