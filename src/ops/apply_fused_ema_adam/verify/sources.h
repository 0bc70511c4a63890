// The inputs of one element of an update.
#pragma once

#include <string>

#include "base/text.h"
#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

inline FindSources apply_fused_ema_adam_sources(const GoldenCall& call) {
  return [&call](const Place& place) {
    ElementSources found;
    const std::string index = index_text(place.element, call.tensors[kGrad].dims);
    for (size_t k = 0; k < kStep; ++k) {
      found.lines.push_back(
          source_line(kEmaNames[k] + index, 1, [&](int64_t) { return call.tensors[k].get(place.element); }));
    }
    found.lines.push_back(openaclnn::text("step = ", whole_number_at(call.tensors[kStep], 0)));
    return found;
  };
}

}  // namespace openaclnn_verify
