// ApplyFusedEmaAdamList: a thousand small parameters in one call, against the loop of single calls.
#include <chrono>

#include "acl/acl_rt.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/apply_fused_ema_adam/verify/cases.h"
#include "references.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

constexpr size_t kRoles = 5;  // grad, var, m, v, s

// The tensors of each role are adjacent in one tensor of the workload, [tensors, numel]. Their lists live
// as long as the workload, because a case would make them for each call.
class EmaAdamList final : public Workload {
 public:
  explicit EmaAdamList(const WorkloadDescription& d) : Workload(d), replays_(d.variant == "replayed") {
    const int64_t tensors_of_role = d.shape[0].second, numel = d.shape[1].second;
    for (size_t role = 0; role < kRoles; ++role) {
      const int64_t bytes = numel * static_cast<int64_t>(sizeof(float));
      for (int64_t i = 0; i < tensors_of_role; ++i) {
        parts_[role].push_back(aclCreateTensor(&numel, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &numel, 1,
                                               tensor(role).data() + i * bytes));
      }
      lists_[role] = aclCreateTensorList(parts_[role].data(), parts_[role].size());
    }
    if (!replays_) return;
    uint64_t bytes = 0;
    require(plan_list(&bytes, &replayed_));
    require(aclSetAclOpExecutorRepeatable(replayed_));
  }

  ~EmaAdamList() override {
    if (replayed_ != nullptr) aclDestroyAclOpExecutor(replayed_);
    for (aclTensorList* list : lists_) aclDestroyTensorList(list);  // and their tensors
  }

  void call() override {
    aclOpExecutor* executor = replayed_;
    uint64_t bytes = 0;
    if (!replays_) require(plan_list(&bytes, &executor));
    require(openaclnnApplyFusedEmaAdamList(nullptr, bytes, executor, nullptr));
    require(aclrtSynchronizeStream(nullptr));
  }

  // Without calls: the traffic of all updates and their arithmetic.
  double run_arithmetic(Team& team, int calls) override {
    return run_arithmetic_ema_adam(team, calls, tensor(0), {&tensor(1), &tensor(2), &tensor(3), &tensor(4)});
  }

  // The loop of single calls, both phases each, with one wait at its end.
  double run_reference(Team&, int calls) override {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) {
      for (size_t i = 0; i < parts_[0].size(); ++i) {
        uint64_t bytes = 0;
        aclOpExecutor* executor = nullptr;
        require(aclnnApplyFusedEmaAdamGetWorkspaceSize(parts_[0][i], parts_[1][i], parts_[2][i], parts_[3][i],
                                                       parts_[4][i], tensor(kRoles).handle(), 1e-3, 0.999,
                                                       0.9, 0.999, 1e-8, 1, true, 0.01, &bytes, &executor));
        require(aclnnApplyFusedEmaAdam(nullptr, 0, executor, nullptr));
      }
      require(aclrtSynchronizeStream(nullptr));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  int plan_list(uint64_t* bytes, aclOpExecutor** executor) const {
    return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
        lists_[0], lists_[1], lists_[2], lists_[3], lists_[4], nullptr, tensor(kRoles).handle(), nullptr,
        nullptr, 1e-3, 0.999, 0.9, 0.999, 1e-8, 1, true, 0.01, bytes, executor);
  }

  const bool replays_;
  std::vector<aclTensor*> parts_[kRoles];
  aclTensorList* lists_[kRoles];
  aclOpExecutor* replayed_ = nullptr;
};

}  // namespace

std::vector<Entry> apply_fused_ema_adam_list_workloads() {
  std::vector<Entry> entries;
  for (const int64_t numel : {64, 1000}) {
    for (const char* variant : {"planned", "replayed"}) {
      constexpr int64_t kTensors = 1000;
      WorkloadDescription d{
          "ApplyFusedEmaAdamList",
          "f32",
          std::to_string(numel) + "_elements",
          variant,
          {{"tensors", kTensors}, {"numel", numel}},
          ema_adam_case(ACL_FLOAT, {kTensors, numel}, {}, 10, openaclnn_verify::Layout::contiguous, variant),
          "the loop of single calls"};
      entries.push_back(entry<EmaAdamList>(std::move(d)));
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
