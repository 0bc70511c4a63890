// ApplyAdamW: four arrays read, three written in place; with amsgrad one more of each.
#include "ops/apply_adam_w/verify/cases.h"
#include "references.h"
#include "sizes.h"

namespace openaclnn_bench {

namespace {

class AdamW final : public Workload {
 public:
  using Workload::Workload;
  double run_reference(Team& team, int calls) override {
    std::vector<const Tensor*> states;
    const Tensor* grad = nullptr;
    for (size_t k = 0; k < tensors().size(); ++k) {
      if (description().tensors[k].role == openaclnn_verify::Role::reference) states.push_back(&tensor(k));
      if (tensor(k).name() == "grad") grad = &tensor(k);
    }
    return run_update(team, calls, *grad, states);
  }
};

}  // namespace

std::vector<Entry> apply_adam_w_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    for (const TensorSize& size : kStateSizes) {
      for (const bool amsgrad : {false, true}) {
        const int64_t numel = size.bytes / type.bytes;
        openaclnn_verify::AdamWSetup setup = openaclnn_verify::adam_w_setup(2, type.dtype, amsgrad);
        setup.beta2 = 0.999;
        entries.push_back(
            entry<AdamW>({"ApplyAdamWV2",
                          type.name,
                          size.name,
                          amsgrad ? "amsgrad" : "",
                          {{"numel", numel}},
                          adam_w_case(setup, {numel}, openaclnn_verify::Layout::contiguous, size.name),
                          amsgrad ? "5 reads, 4 writes in place" : "4 reads, 3 writes in place"}));
      }
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
