// What a call costs besides its work: phase 1 alone, and both phases with the wait, of operators on four elements.
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

class TinyUpdate : public Workload {
 public:
  explicit TinyUpdate(const Description& d) : Workload(d) {
    tensor(5).fill_integers(std::vector<int64_t>{10});
  }

 protected:
  int phase1(uint64_t* bytes, aclOpExecutor** executor) const {
    return aclnnApplyFusedEmaAdamGetWorkspaceSize(handle(0), handle(1), handle(2), handle(3), handle(4),
                                                  handle(5), 1e-3, 0.999, 0.9, 0.999, 1e-8, 1, true, 0.01,
                                                  bytes, executor);
  }
};

class TwoPhases final : public TinyUpdate {
 public:
  using TinyUpdate::TinyUpdate;
  void call() override {
    caller_([&](uint64_t* bytes, aclOpExecutor** executor) { return phase1(bytes, executor); },
            aclnnApplyFusedEmaAdam);
  }

 private:
  Caller caller_;
};

// Measures phase 1 together with the end of the executor's life, which a caller cannot avoid either.
class Phase1 final : public TinyUpdate {
 public:
  using TinyUpdate::TinyUpdate;
  void call() override {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    require(phase1(&bytes, &executor));
    require(aclDestroyAclOpExecutor(executor));
  }
};

}  // namespace

std::vector<Entry> overhead_workloads() {
  Description d{"Overhead", "f32", "phase1", "", {{"numel", 4}}, {}, "", 0};
  for (const char* name : {"grad", "var", "m", "v", "s"}) d.tensors.push_back({name, {4}, "f32"});
  d.tensors.push_back({"step", {1}, "i64"});
  Description both = d;
  both.size = "two_phases_sync";
  return {{d, [](const Description& self) { return std::make_unique<Phase1>(self); }},
          {both, [](const Description& self) { return std::make_unique<TwoPhases>(self); }}};
}

}  // namespace openaclnn_bench
