// The inputs of one element of one index of the lists.
#pragma once

#include <string>

#include "base/text.h"
#include "ops/apply_fused_ema_adam_list/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

inline ListForm recorded_list_form(const GoldenCall& call) {
  const RecordedCall& given = call.arguments;
  ListForm form = {recorded_ema_attributes(given), given.list_length};
  form.has_copies = given.tensors.contains("varCopiesOptional");
  form.has_scale = given.tensors.contains("gradScaleOptional");
  form.has_found_inf = given.tensors.contains("foundInfOptional");
  return form;
}

inline FindSources apply_fused_ema_adam_list_sources(const GoldenCall& call) {
  return [&call, form = recorded_list_form(call)](const Place& place) {
    ElementSources found;
    for (size_t k = 0; k < kCopy; ++k) {
      const Array& array = call.tensors[form.at(k, place.list_index)];
      const std::string name = openaclnn::text(kListNames[k], "[", place.list_index, "]");
      found.lines.push_back(source_line(name + index_text(place.element, array.dims), 1,
                                        [&](int64_t) { return array.get(place.element); }));
    }
    found.lines.push_back(openaclnn::text("step = ", whole_number_at(call.tensors[form.step()], 0)));
    const auto add = [&](const char* name, size_t at) {
      found.lines.push_back(source_line(name, 1, [&](int64_t) { return call.tensors[at].get(0); }));
    };
    if (form.has_scale) add("gradScaleOptional", form.scale());
    if (form.has_found_inf) add("foundInfOptional", form.found_inf());
    return found;
  };
}

}  // namespace openaclnn_verify
