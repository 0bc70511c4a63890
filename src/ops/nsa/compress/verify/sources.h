// The tokens and weights that each compressed token is the sum of.
#pragma once

#include <memory>
#include <utility>

#include "ops/nsa/compress/verify/oracle.h"
#include "ops/nsa/verify/window_reading.h"

namespace openaclnn_verify {

inline FindSources compress_sources(const GoldenCall& call, WindowReading reading) {
  const auto shared = std::make_shared<const WindowReading>(std::move(reading));
  return [&call, shared](const Place& place) {
    const WindowReading& r = *shared;
    const int64_t row = place.element / r.columns;
    return compressed_sources(r, call.tensors[kCompressInput], call.tensors[kCompressWeight], row / r.heads,
                              row % r.heads, place.element % r.columns);
  };
}

inline WindowReading compress_reading(const GoldenCall& call) {
  return make_reading(call, "actSeqLenOptional", call.tensors[kCompressInput].dims,
                      call.tensors[kCompressOutput].dims[0]);
}

inline FindSources nsa_compress_sources(const GoldenCall& call) {
  return compress_sources(call, compress_reading(call));
}

}  // namespace openaclnn_verify
