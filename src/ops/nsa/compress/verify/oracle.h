// Two references for NsaCompress, based on its README: the exact sums with their error bounds, and the
// prescribed order of single roundings, one output element at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/nsa/verify/sums.h"
#include "ops/nsa/verify/windows.h"
#include "verify/case.h"

namespace openaclnn_verify {

// Tensors in the order of the signature.
enum CompressTensor { kCompressInput, kCompressWeight, kCompressOutput, kCompressTensors };
inline constexpr const char* kCompressNames[kCompressTensors] = {"input", "weight", "output"};

// Calls visit(element of the output, factors (weight, token) of its terms) for every element, in row-major
// order.
template <class Visit>
void for_each_compressed(const WindowAttributes& a, const HostTensor& input, const HostTensor& weight,
                         const Visit& visit) {
  const int64_t heads = input.dims()[1], columns = input.dims()[2];
  std::vector<WeightedTerm> terms(static_cast<size_t>(a.block_size));
  int64_t element = 0;
  for (const int64_t start : window_starts(a, input.dims()[0])) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t e = 0; e < columns; ++e) {
        for (int64_t i = 0; i < a.block_size; ++i) {
          terms[static_cast<size_t>(i)] = {
              static_cast<float>(weight.get(i * heads + n)),
              static_cast<float>(input.get(((start + i) * heads + n) * columns + e))};
        }
        visit(element++, terms);
      }
    }
  }
}

inline JudgeResults compress_judge(const WindowAttributes& given) {
  return [given](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    const HostTensor& output = after[kCompressOutput];
    const WindowAttributes attributes =
        with_fitting_batches(given, before[kCompressInput].dims()[0], output.dims()[0]);
    OutputRecord& record = judge.output("NsaCompress output", output.dtype());
    const long double c = roundings_of_compressed(attributes.block_size);
    for_each_compressed(attributes, before[kCompressInput], before[kCompressWeight],
                        [&](int64_t element, const std::vector<WeightedTerm>& terms) {
                          const ExactSum exact = exact_sum(terms);
                          record.compare(output.get(element), exact.value, c, exact.magnitude);
                        });
  };
}

}  // namespace openaclnn_verify
