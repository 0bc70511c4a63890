// ApplyFusedEmaAdam: five arrays read, four written in place.
#include "aclnnop/aclnn_apply_fused_ema_adam.h"

#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

enum { kGrad, kVar, kM, kV, kS, kStep };

class EmaAdam final : public Workload {
 public:
  explicit EmaAdam(const Description& description) : Workload(description) {
    for (size_t k : {kGrad, kVar, kM, kS}) tensor(k).fill(-1, 1);
    tensor(kV).fill(0, 1);
    tensor(kStep).fill_integers(std::vector<int64_t>{10});
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnApplyFusedEmaAdamGetWorkspaceSize(handle(kGrad), handle(kVar), handle(kM), handle(kV),
                                                        handle(kS), handle(kStep), 1e-3, 0.999, 0.9, 0.999,
                                                        1e-8, 1, true, 0.01, bytes, executor);
        },
        aclnnApplyFusedEmaAdam);
  }

  double run_reference(Team& team, int calls) override {
    return team.run(calls, [&](int thread) {
      const Part part = part_of(tensor(kGrad).bytes(), thread, team.threads());
      void* states[4];
      for (size_t k = 0; k < 4; ++k) states[k] = tensor(kVar + k).data() + part.begin;
      traffic_kernels().update(tensor(kGrad).data() + part.begin, std::span(states), part.bytes);
    });
  }

 private:
  Caller caller_;
};

}  // namespace

std::vector<Entry> ema_adam_workloads() {
  std::vector<Entry> entries;
  const std::pair<const char*, int64_t> sizes[] = {// bytes of one tensor
                                                   {"L1", 4 << 10},
                                                   {"L2", 96 << 10},
                                                   {"L3", 384 << 10},
                                                   {"memory", 64 << 20}};
  for (const char* dtype : kFloatTypes) {
    for (const auto& [size, bytes] : sizes) {
      const int64_t numel = bytes / element_bytes(dtype);
      Description d{"ApplyFusedEmaAdam",          dtype,    size, "", {{"numel", numel}}, {},
                    "5 reads, 4 writes in place", 9 * bytes};
      for (const char* name : {"grad", "var", "m", "v", "s"}) d.tensors.push_back({name, {numel}, dtype});
      d.tensors.push_back({"step", {1}, "i64"});
      entries.push_back({d, [](const Description& self) { return std::make_unique<EmaAdam>(self); }});
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
