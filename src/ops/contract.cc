// Converts arguments to parameters of a call.
#include "ops/contract.h"

#include "base/env.h"

namespace openaclnn {

PlanContext plan_context() {
  const Environment& settings = environment();
  return {platform_kind(), settings.check, settings.vendor_limits};
}

namespace {

// Appends the argument with the dims of its view up to `rank`. Written in place and number by number, like the
// argument itself: the processor waits for numbers that were just written before it can read two as one.
Parameter& append(Call& call, const Argument& argument, Role role, int rank) {
  const TensorView& from = argument.view;
  Parameter& made = call.append();
  made.name = argument.name;
  made.view.data = from.data;
  // An empty view may have any offset, but kernels compute a base address from it.
  made.view.offset = argument.facts.is_empty ? 0 : from.offset;
  made.view.dtype = from.dtype;
  made.view.rank = rank;
  for (int k = 0; k < rank; ++k) {
    made.view.dims[k] = from.dims[k];
    made.view.strides[k] = from.strides[k];
  }
  made.is_input = role != Role::output;
  made.is_output = role != Role::input;
  return made;
}

void count_work(Call& call, const Parameter& parameter) {
  if (!parameter.is_accessed) return;
  const bool is_reference = parameter.is_input && parameter.is_output;
  call.work_bytes += static_cast<double>(parameter.data_bytes) * (is_reference ? 2 : 1);
}

}  // namespace

Parameter& add_tensor(Call& call, const Argument& argument, Role role, bool is_accessed) {
  Parameter& made = append(call, argument, role, argument.view.rank);
  made.is_accessed = is_accessed && !call.nothing_to_do && !argument.facts.is_empty;
  made.bytes.begin = argument.facts.bytes.begin;
  made.bytes.end = argument.facts.bytes.end;
  made.data_bytes = argument.facts.data_bytes;
  count_work(call, made);
  return made;
}

Parameter& add_number(Call& call, const Argument& argument, bool is_accessed) {
  Parameter& made = append(call, argument, Role::input, 0);
  made.is_accessed = is_accessed && !call.nothing_to_do && !argument.facts.is_empty;
  made.bytes = byte_range(made.view);
  made.data_bytes = made.view.element_bytes();
  count_work(call, made);
  return made;
}

}  // namespace openaclnn
