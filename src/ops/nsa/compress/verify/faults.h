// Faults that kernels of NsaCompress have: wrong windows and weights.
#pragma once

#include <utility>
#include <vector>

#include "ops/nsa/compress/verify/sources.h"

namespace openaclnn_verify {

inline std::vector<Fault> nsa_compress_faults(const GoldenCall& call) {
  std::vector<Fault> faults;
  for (FaultyReading& faulty : faulty_readings(compress_reading(call))) {
    faults.push_back(fault_of_terms(std::move(faulty.name), std::move(faulty.text),
                                    compress_sources(call, std::move(faulty.reading))));
  }
  return faults;
}

}  // namespace openaclnn_verify
