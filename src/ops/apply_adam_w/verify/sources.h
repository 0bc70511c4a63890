// The inputs of one element of an update.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"
#include "ops/apply_adam_w/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

// The positions of grad and the step: the maximum may be given although amsgrad is off.
inline size_t adam_w_grad_at(const AdamWSetup& s, const RecordedCall& given) {
  if (s.version == 1) return s.grad_at();
  return given.tensors.contains("maxGradNormOptionalRef") ? 4 : 3;
}

inline FindSources apply_adam_w_sources(const GoldenCall& call) {
  const AdamWSetup s = recorded_adam_w_setup(call.arguments);
  const size_t grad_at = adam_w_grad_at(s, call.arguments);
  return [&call, s, grad_at](const Place& place) {
    ElementSources found;
    const std::string index = index_text(place.element, call.tensors[0].dims);
    const auto add = [&](const std::string& name, size_t at, int64_t element) {
      found.lines.push_back(source_line(name, 1, [&](int64_t) { return call.tensors[at].get(element); }));
    };
    add("grad" + index, grad_at, place.element);
    for (size_t part = 0; part < kAdamMaximum; ++part) add(kAdamNames[part] + index, part, place.element);
    if (s.amsgrad) add("maximum" + index, s.maximum_at(), place.element);
    if (s.version == 2) {
      add("step", grad_at + 1, 0);
    } else {
      add("beta1Power", AdamWSetup::kScalarsAt, 0);
      add("beta2Power", AdamWSetup::kScalarsAt + 1, 0);
    }
    return found;
  };
}

}  // namespace openaclnn_verify
