// ApplyFusedEmaAdam: five arrays read, four written in place.
#include "ops/apply_fused_ema_adam/verify/cases.h"

#include "references.h"
#include "sizes.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kGrad, openaclnn_verify::kVar, openaclnn_verify::kM, openaclnn_verify::kV,
    openaclnn_verify::kS;

class EmaAdam final : public Workload {
 public:
  using Workload::Workload;
  double run_reference(Team& team, int calls) override {
    return run_update(team, calls, tensor(kGrad), {&tensor(kVar), &tensor(kM), &tensor(kV), &tensor(kS)});
  }
  double run_arithmetic(Team& team, int calls) override {
    return run_arithmetic_ema_adam(team, calls, tensor(kGrad),
                                   {&tensor(kVar), &tensor(kM), &tensor(kV), &tensor(kS)});
  }
};

}  // namespace

std::vector<Entry> apply_fused_ema_adam_workloads() {
  // Those of bench/peers_torch.py.
  const openaclnn_verify::EmaAttributes attributes = {.ema_decay = 0.999, .weight_decay = 0.01};
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    const auto add = [&](const char* size, const std::string& variant, int64_t numel) {
      entries.push_back(entry<EmaAdam>(
          {"ApplyFusedEmaAdam",
           type.name,
           size,
           variant,
           {{"numel", numel}},
           ema_adam_case(type.dtype, {numel}, attributes, 10, openaclnn_verify::Layout::contiguous, size),
           "5 reads, 4 writes in place"}));
    };
    for (const TensorSize& size : kStateSizes) add(size.name, "", size.bytes / type.bytes);
    for (const int64_t numel : growing_counts(100, 1'000'000'000)) add(kGrowth, std::to_string(numel), numel);
  }
  return entries;
}

}  // namespace openaclnn_bench
