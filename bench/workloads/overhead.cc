// The cost of a call besides its work: phase 1 alone, and both phases with the wait, of an operator on four
// elements.
#include "ops/apply_fused_ema_adam/verify/cases.h"

#include "workload.h"

namespace openaclnn_bench {

namespace {

// Measures phase 1 and the destruction of its executor, which callers also need.
class Phase1 final : public Workload {
 public:
  using Workload::Workload;
  void call() override {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    require(phase1(&bytes, &executor));
    require(aclDestroyAclOpExecutor(executor));
  }
};

}  // namespace

std::vector<Entry> overhead_workloads() {
  WorkloadDescription d{"Overhead",
                        "f32",
                        "phase1",
                        "",
                        {{"numel", 4}},
                        ema_adam_case(ACL_FLOAT, {4}, {}, 10, openaclnn_verify::Layout::contiguous, "tiny"),
                        ""};
  d.call.minimal_bytes = 0;  // time matters, not traffic
  WorkloadDescription both = d;
  both.size = "two_phases_sync";
  return {entry<Phase1>(d), entry<Workload>(both)};
}

}  // namespace openaclnn_bench
