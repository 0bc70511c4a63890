// ApplyAdamW: four arrays read, three written in place; with amsgrad one more of each.
#include "aclnnop/aclnn_apply_adam_w.h"

#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

// The maximum is the last tensor, where there is one.
enum { kGrad, kVar, kM, kV, kStep, kMaximum };

class AdamW final : public Workload {
 public:
  explicit AdamW(const Description& description)
      : Workload(description), amsgrad_(description.variant == "amsgrad") {
    for (size_t k : {kGrad, kVar, kM}) tensor(k).fill(-1, 1);
    tensor(kV).fill(0, 1);
    tensor(kStep).fill_integers(std::vector<int64_t>{10});
    if (amsgrad_) tensor(kMaximum).fill(0, 1);
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnApplyAdamWV2GetWorkspaceSize(
              handle(kVar), handle(kM), handle(kV), amsgrad_ ? handle(kMaximum) : nullptr, handle(kGrad),
              handle(kStep), 1e-3f, 0.9f, 0.999f, 0.01f, 1e-8f, amsgrad_, false, bytes, executor);
        },
        aclnnApplyAdamWV2);
  }

  double run_reference(Team& team, int calls) override {
    return team.run(calls, [&](int thread) {
      const Part part = part_of(tensor(kGrad).bytes(), thread, team.threads());
      void* states[4];
      for (size_t k = 0; k < 3; ++k) states[k] = tensor(kVar + k).data() + part.begin;
      if (amsgrad_) states[3] = tensor(kMaximum).data() + part.begin;
      traffic_kernels().update(tensor(kGrad).data() + part.begin, std::span(states).first(amsgrad_ ? 4 : 3),
                               part.bytes);
    });
  }

 private:
  const bool amsgrad_;
  Caller caller_;
};

}  // namespace

std::vector<Entry> adam_w_workloads() {
  std::vector<Entry> entries;
  const std::pair<const char*, int64_t> sizes[] = {// bytes of one tensor
                                                   {"L1", 4 << 10},
                                                   {"L2", 96 << 10},
                                                   {"L3", 384 << 10},
                                                   {"memory", 64 << 20}};
  for (const char* dtype : kFloatTypes) {
    for (const auto& [size, bytes] : sizes) {
      for (const bool amsgrad : {false, true}) {
        const int64_t numel = bytes / element_bytes(dtype);
        Description d{"ApplyAdamWV2",
                      dtype,
                      size,
                      amsgrad ? "amsgrad" : "",
                      {{"numel", numel}},
                      {},
                      amsgrad ? "5 reads, 4 writes in place" : "4 reads, 3 writes in place",
                      (amsgrad ? 9 : 7) * bytes};
        for (const char* name : {"grad", "var", "m", "v"}) d.tensors.push_back({name, {numel}, dtype});
        d.tensors.push_back({"step", {1}, "i64"});
        if (amsgrad) d.tensors.push_back({"maxGradNorm", {numel}, dtype});
        entries.push_back({d, [](const Description& self) { return std::make_unique<AdamW>(self); }});
      }
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
