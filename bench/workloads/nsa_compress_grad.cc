// NsaCompressGrad: the tokens and the gradients of the windows read once, as many tokens written.
#include "ops/nsa/compress_grad/verify/cases.h"
#include "references.h"
#include "windows.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kCgInput, openaclnn_verify::kCgInputGrad, openaclnn_verify::kCgOutputGrad;

class NsaCompressGrad final : public Workload {
 public:
  explicit NsaCompressGrad(const WorkloadDescription& description)
      : Workload(description), windows_(most_windows(description)) {}
  double run_reference(Team& team, int calls) override {
    return run_read_and_copy(team, calls, tensor(kCgOutputGrad), tensor(kCgInput), tensor(kCgInputGrad));
  }
  double run_arithmetic(Team& team, int calls) override {
    return run_arithmetic_compress_grad(team, calls, tensor(kCgInput).dtype(), windows_,
                                        tensor(kCgOutputGrad), tensor(kCgInput), tensor(kCgInputGrad));
  }

 private:
  const int windows_;
};

}  // namespace

std::vector<Entry> nsa_compress_grad_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    for (const CompressionSize& s : compression_sizes(type)) {
      entries.push_back(entry<NsaCompressGrad>(
          {"NsaCompressGrad", type.name, s.size, s.variant, s.shape(),
           compress_grad_case(type.dtype, {s.tokens, s.heads, s.columns},
                              openaclnn_verify::WindowAttributes::without_lengths(s.block, s.stride),
                              openaclnn_verify::Layout::contiguous, s.variant),
           "copy with streaming writes, reads of the windows"}));
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
