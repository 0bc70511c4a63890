// Computes the goldens of calls, and runs them with this library.
#include "judge/call.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "judge/device_tensors.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_judge {

using openaclnn_verify::Arguments;
using openaclnn_verify::Description;
using openaclnn_verify::Golden;
using openaclnn_verify::GoldenCall;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;
using openaclnn_verify::TensorShape;

namespace {

const Description& description_of(const Call& call) {
  if (call.description == nullptr) throw std::invalid_argument("the call has no operator");
  return *call.description;
}

// Adds the default of a number that the call leaves out.
void complete_number(const Parameter& parameter, Arguments& values) {
  const bool is_real = parameter.kind == Kind::real;
  const bool is_given =
      is_real ? values.reals.contains(parameter.name)
              : values.integers.contains(parameter.name) && !values.integers.at(parameter.name).empty();
  if (is_given) return;
  const std::string& text = parameter.fallback;
  if (text.empty()) throw std::invalid_argument(parameter.name + " is missing");
  const char* const end = text.data() + text.size();
  if (is_real) {
    std::from_chars(text.data(), end, values.reals[parameter.name]);
  } else if (parameter.kind == Kind::flag) {
    values.integers[parameter.name] = {text == "true" ? 1 : 0};
  } else {
    std::from_chars(text.data(), end, values.integers[parameter.name].emplace_back());
  }
}

// The dtype of a result is one of a list, or that of another tensor.
void require_dtype(const Parameter& parameter, aclDataType dtype, const Arguments& values) {
  std::vector<aclDataType> accepted = parameter.dtypes.accepted;
  const std::string& other = parameter.dtypes.same_as;
  if (!other.empty()) accepted = {values.tensor(other).dtype};
  if (std::ranges::count(accepted, dtype) > 0) return;
  std::string names;
  for (const aclDataType one : accepted)
    names += (names.empty() ? "" : " or ") + std::string(openaclnn_verify::dtype_name(one));
  throw std::invalid_argument(parameter.name + " is " + openaclnn_verify::dtype_name(dtype) +
                              "; it must be " + names + (other.empty() ? "" : ", as " + other));
}

// Results know the dtype and shape of an output, if the arguments leave a choice.
void complete_output(const Parameter& parameter, const Call& call, Arguments& values) {
  if (values.has(parameter.name)) return;
  if (const auto known = call.results.find(parameter.name);
      known != call.results.end() && !known->second.empty()) {
    const Array& result = known->second[0];
    require_dtype(parameter, result.dtype, values);
    values.tensors[parameter.name] = {{result.dtype, result.dims}};
    return;
  }
  values.tensors[parameter.name] = {parameter.infer(values)};
}

// Returns all arguments, with defaults, outputs, and the shapes of the inputs.
Arguments complete_arguments(const Call& call) {
  const Description& description = description_of(call);
  Arguments values = call.values;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_tensor()) {
      const auto given = call.inputs.find(parameter.name);
      if (given == call.inputs.end()) continue;
      std::vector<TensorShape>& shapes = values.tensors[parameter.name];
      shapes.clear();
      for (const Array& array : given->second) shapes.push_back({array.dtype, array.dims});
    } else if (parameter.kind != Kind::integers && parameter.kind != Kind::text) {
      complete_number(parameter, values);
    }
  }
  for (const Parameter& parameter : description.parameters) {
    if (!parameter.is_tensor()) continue;
    if (parameter.role == Role::output) complete_output(parameter, call, values);
    const auto shapes = values.tensors.find(parameter.name);
    const bool is_missing =
        shapes == values.tensors.end() || (shapes->second.empty() && parameter.kind == Kind::tensor);
    if (is_missing && !parameter.is_optional) throw std::invalid_argument(parameter.name + " is missing");
    if (is_missing && shapes != values.tensors.end()) values.tensors.erase(shapes);
  }
  return values;
}

// Lists of one call have one length.
void require_equal_lists(const Description& description, const Arguments& values) {
  const Parameter* first = nullptr;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.kind != Kind::tensor_list || !values.has(parameter.name)) continue;
    if (first == nullptr) first = &parameter;
    const size_t wanted = values.tensors.at(first->name).size(),
                 length = values.tensors.at(parameter.name).size();
    if (length != wanted) {
      throw std::invalid_argument(parameter.name + " has " + std::to_string(length) + " tensors but " +
                                  first->name + " has " + std::to_string(wanted));
    }
  }
}

// Returns the tensors of a parameter: the given ones, or for outputs only their shapes.
std::vector<Array> arrays_of(const Parameter& parameter, const Call& call, const Arguments& values) {
  if (const auto given = call.inputs.find(parameter.name); given != call.inputs.end()) return given->second;
  std::vector<Array> shapes;
  for (const auto& [dtype, dims] : values.tensors.at(parameter.name))
    shapes.push_back({dtype, dims, nullptr});
  return shapes;
}

}  // namespace

void add_input(Call& call, const std::string& parameter, Array array) {
  call.values.tensors[parameter].push_back({array.dtype, array.dims});
  call.inputs[parameter].push_back(std::move(array));
}

GoldenCall golden_call_of(const Call& call, int threads) {
  const Description& description = description_of(call);
  const Arguments values = complete_arguments(call);
  require_equal_lists(description, values);
  GoldenCall golden_call = {openaclnn_verify::recorded_call(description, values), {}, threads};
  for (const Parameter& parameter : description.parameters) {
    if (!parameter.is_tensor() || !values.has(parameter.name)) continue;
    for (Array& array : arrays_of(parameter, call, values)) golden_call.tensors.push_back(std::move(array));
  }
  return golden_call;
}

Golden golden_of(const Call& call, int threads) {
  const GoldenCall golden_call = golden_call_of(call, threads);
#define OPENACLNN_OPERATOR(folder, name) \
  if (call.description->room == #folder) return openaclnn_verify::golden_of_##folder(golden_call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  throw std::invalid_argument(call.description->name() + " has no golden");
}

OurResults run_here(const Call& call) {
  const Description& description = description_of(call);
  const Arguments values = complete_arguments(call);
  DeviceTensors tensors(description, values);
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_tensor() && values.has(parameter.name))
      tensors.add(parameter.name, arrays_of(parameter, call, values));
  }
  OurResults ours;
  ours.fault = tensors.run();
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_result() && values.has(parameter.name))
      ours.results[parameter.name] = tensors.copy_back(parameter.name);
  }
  return ours;
}

}  // namespace openaclnn_judge
