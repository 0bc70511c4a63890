// Faults that kernels of NsaCompressGrad have: wrong windows and weights, and windows that are left out.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ops/nsa/compress_grad/verify/sources.h"

namespace openaclnn_verify {

inline std::vector<Fault> nsa_compress_grad_faults(const GoldenCall& call) {
  const WindowReading right = compress_grad_reading(call);
  std::vector<FaultyReading> readings = faulty_readings(right);
  std::vector<bool> is_last(right.starts.size());
  for (size_t j = 0; j < is_last.size(); ++j)
    is_last[j] = j + 1 == is_last.size() || right.starts[j + 1] != right.starts[j] + right.attributes.stride;
  readings.push_back({"last-window-missing",
                      "The last window of each sequence is missing. Check the end of the loop over windows.",
                      right});
  readings.back().reading.leaves_out = is_last;
  readings.push_back(
      {"last-window-missing", "The last window is missing. Check the end of the loop over windows.", right});
  for (size_t j = 0; j + 1 < is_last.size(); ++j) is_last[j] = false;
  readings.back().reading.leaves_out = std::move(is_last);
  std::vector<Fault> faults;
  for (FaultyReading& faulty : readings) {
    faults.push_back(fault_of_terms(std::move(faulty.name), std::move(faulty.text),
                                    compress_grad_sources(call, std::move(faulty.reading))));
  }
  return faults;
}

}  // namespace openaclnn_verify
