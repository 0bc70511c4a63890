// NsaCompress: the tokens read once, the windows' sums written.
#include "ops/nsa/compress/verify/cases.h"
#include "references.h"
#include "windows.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kCompressInput, openaclnn_verify::kCompressOutput;

class NsaCompress final : public Workload {
 public:
  explicit NsaCompress(const WorkloadDescription& description)
      : Workload(description), windows_(most_windows(description)) {}
  double run_reference(Team& team, int calls) override {
    return run_read_and_copy(team, calls, tensor(kCompressInput), tensor(kCompressInput),
                             tensor(kCompressOutput));
  }
  double run_arithmetic(Team& team, int calls) override {
    return run_arithmetic_compress(team, calls, tensor(kCompressInput).dtype(), windows_,
                                   tensor(kCompressInput), tensor(kCompressOutput));
  }

 private:
  const int windows_;
};

}  // namespace

std::vector<Entry> nsa_compress_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    for (const CompressionSize& s : compression_sizes(type)) {
      entries.push_back(entry<NsaCompress>(
          {"NsaCompress", type.name, s.size, s.variant, s.shape(),
           compress_case(type.dtype, {s.tokens, s.heads, s.columns},
                         openaclnn_verify::WindowAttributes::without_lengths(s.block, s.stride),
                         openaclnn_verify::Layout::contiguous, s.variant),
           "read, streaming writes of the windows"}));
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
