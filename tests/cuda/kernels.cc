// Runs phase 1 through the C API, then the kernels themselves.
#include "kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "cpu/scratch.h"
#include "ops/launches.h"
#include "ops/registry.h"
#include "runtime/executor.h"
#include "verify/number.h"

namespace openaclnn_test {

using openaclnn::CheckMode;
using openaclnn::Fault;
using openaclnn::PlatformKind;

namespace {

// Without devices: phase 1 only queries the kind.
openaclnn::Platform* const test_platform =
    new openaclnn::Platform(PlatformKind::cpu, "a test without devices");

// Replaces the platform that searches for a plugin, before any call needs one.
void use_test_platform() {
  setenv("OPENACLNN_DEVICE", "cuda", 1);
  openaclnn::register_platform(PlatformKind::cuda, [] { return test_platform; });
}

openaclnn::cuda::LaunchFunction launch_of(const openaclnn::Operator& op) {
#define OPENACLNN_OPERATOR(folder, name) \
  if (&op == &openaclnn::folder##_operator()) return openaclnn::cuda::launch_##folder;
#include "ops/ops.def"
#include "support/verify.h"
#undef OPENACLNN_OPERATOR
  return nullptr;
}

// Runs phase 1 for a platform.
struct Planned {
  std::shared_ptr<openaclnn::Executor> executor;
  uint64_t workspace_bytes = 0;
};
Planned plan_for(PlatformKind platform, const Case& c, const std::vector<HostTensor>& tensors) {
  use_test_platform();
  test_platform->kind = platform;
  std::vector<Descriptor> descriptors;
  std::vector<aclTensor*> handles;
  for (const HostTensor& tensor : tensors) {
    descriptors.push_back(tensor.describe());
    handles.push_back(descriptors.back().get());
  }
  Planned planned;
  aclOpExecutor* executor = nullptr;
  if (c.phase1(handles, &planned.workspace_bytes, &executor) != 0) return planned;
  planned.executor = openaclnn::ExecutorTable::instance().remove(executor);
  return planned;
}

bool same(const Fault& a, const Fault& b) {
  const auto is_same_real = [](double x, double y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
  };
  if (a.count == 0 && b.count == 0) return true;
  return a.count == b.count && a.position == b.position && a.value == b.value && a.is_real == b.is_real &&
         is_same_real(a.real_value, b.real_value) && a.limit == b.limit && a.total == b.total &&
         a.kind == b.kind;
}

std::string text_of(const Fault& fault) {
  return "{count " + std::to_string(fault.count) + ", position " + std::to_string(fault.position) +
         ", value " + std::to_string(fault.value) + ", limit " + std::to_string(fault.limit) + ", total " +
         std::to_string(fault.total) + ", kind " + std::to_string(fault.kind) + "}";
}

bool has_own_order(const TensorCase& tensor) { return tensor.name.starts_with("weightGrad"); }

}  // namespace

KernelRun run_kernel(const Case& c, const KernelOptions& options) {
  KernelRun run;
  if (options.tensors != nullptr) {
    for (size_t k = 0; k < options.tensors->size(); ++k)
      run.tensors.push_back((*options.tensors)[k].copy(c.tensors[k].layout, options.placement));
  } else {
    run.tensors = make_tensors(c, options.placement);
    if (options.spoil) options.spoil(c, run.tensors);
  }
  for (HostTensor& tensor : run.tensors) tensor.remember();
  const Planned planned = plan_for(options.platform, c, run.tensors);
  run.was_planned = planned.executor != nullptr;
  if (!run.was_planned || planned.executor->call->nothing_to_do) return run;

  const openaclnn::Call& call = *planned.executor->call;
  const std::vector<void*> elements(planned.executor->element_data.begin(),
                                    planned.executor->element_data.end());
  const GuardedBuffer workspace(planned.workspace_bytes, options.placement);
  void* const address = planned.workspace_bytes > 0 ? workspace.data() : nullptr;
  if (options.platform == PlatformKind::cpu) {
    const auto scratch = std::make_unique_for_overwrite<openaclnn::cpu::Scratch>();
    const openaclnn::cpu::ScopedScratch scope(*scratch);
    run.fault =
        call.op->kernel()(call.plan.get(), {planned.executor->data, address, options.check, elements.data()});
  } else {
    const auto piece = std::make_unique_for_overwrite<openaclnn::cuda::LargestUploadPiece>();
    const openaclnn::cuda::LaunchIo io = {
        planned.executor->data, address, options.check, elements.data(), nullptr, &run.fault, piece.get()};
    const cudaError_t error = launch_of(*call.op)(call.plan.get(), io);
    run.error = finish_kernels();
    if (error != cudaSuccess) run.error = "the launch failed with " + std::to_string(error);
  }
  if (!workspace.margins_intact()) run.error = "bytes around the workspace changed";
  for (size_t k = 0; k < run.tensors.size(); ++k) {
    const bool is_input = c.tensors[k].role == Role::input;
    if (!(is_input ? run.tensors[k].unchanged() : run.tensors[k].gaps_intact()))
      run.error = c.tensors[k].name + (is_input ? " was written to" : " has changed around its elements");
  }
  return run;
}

std::string difference(const Case& c, const KernelRun& cpu, const KernelRun& cuda) {
  if (!cpu.error.empty() || !cuda.error.empty()) return cpu.error + cuda.error;
  if (cpu.was_planned != cuda.was_planned) return "phase 1 differs";
  if (!same(cpu.fault, cuda.fault))
    return "faults differ: " + text_of(cpu.fault) + " and " + text_of(cuda.fault);
  for (size_t k = 0; k < c.tensors.size(); ++k) {
    if (has_own_order(c.tensors[k]) || cpu.tensors[k].same_elements(cuda.tensors[k])) continue;
    int64_t at = 0;
    const int64_t bytes = element_bytes(cpu.tensors[k].dtype());
    while (std::memcmp(cpu.tensors[k].element(at), cuda.tensors[k].element(at), static_cast<size_t>(bytes)) ==
           0)
      ++at;
    return c.tensors[k].name + " differs from element " + std::to_string(at) +
           " on: " + std::to_string(cpu.tensors[k].get(at)) + " and " +
           std::to_string(cuda.tensors[k].get(at));
  }
  return "";
}

std::string difference(const Case& c, CheckMode check, const Spoil& spoil, KernelRun* cuda) {
  std::vector<HostTensor> tensors = make_tensors(c);
  if (spoil) spoil(c, tensors);
  const KernelRun cpu = run_kernel(c, {.check = check, .tensors = &tensors});
  KernelOptions options = {.platform = PlatformKind::cuda, .check = check, .tensors = &tensors};
  set_reversed_schedule(false);
  KernelRun forward = run_kernel(c, options);
  if (std::string text = difference(c, cpu, forward); !text.empty()) return text;

  set_reversed_schedule(true);
  options.placement = Placement::off_a_line;
  const KernelRun reverse = run_kernel(c, options);
  set_reversed_schedule(false);
  if (std::string text = difference(c, cpu, reverse); !text.empty()) return "in reverse " + text;
  for (size_t k = 0; k < c.tensors.size(); ++k) {
    if (!forward.tensors[k].same_elements(reverse.tensors[k]))
      return c.tensors[k].name + " depends on the order of threads";
  }
  if (cuda != nullptr) *cuda = std::move(forward);
  return "";
}

}  // namespace openaclnn_test
