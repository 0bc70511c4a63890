// Functions with which rooms write their descriptions.
#include "verify/description.h"

#include <algorithm>
#include <string_view>

namespace openaclnn_verify {

std::string Parameter::short_name() const {
  std::string word = name;
  // CANN has "actSeqLenOptionalOptional" and "maxGradNormOptionalRef".
  for (const std::string_view ending : {"Refs", "Ref", "Optional", "Optional", "Out"}) {
    if (word.size() > ending.size() && word.ends_with(ending)) word.erase(word.size() - ending.size());
  }
  return word;
}

const TensorShape& Arguments::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.empty()) throw std::invalid_argument(name + " is missing");
  return found->second[0];
}

int64_t Arguments::integer(const std::string& name) const {
  const auto found = integers.find(name);
  if (found == integers.end() || found->second.empty()) throw std::invalid_argument(name + " is missing");
  return found->second[0];
}

const Shape& Arguments::dims_of_rank(const std::string& name, size_t rank) const {
  const Shape& dims = tensor(name).dims;
  if (dims.size() != rank) {
    throw std::invalid_argument(name + " has rank " + std::to_string(dims.size()) + "; it must be " +
                                std::to_string(rank));
  }
  return dims;
}

namespace parameters {

Parameter read(const char* name, Dtypes dtypes) { return {.name = name, .dtypes = std::move(dtypes)}; }

Parameter updated(const char* name, Dtypes dtypes) {
  return {.name = name, .role = Role::reference, .dtypes = std::move(dtypes)};
}

Parameter written(const char* name, Dtypes dtypes, Infer infer) {
  return {.name = name, .role = Role::output, .dtypes = std::move(dtypes), .infer = std::move(infer)};
}

Parameter number(const char* name, const char* fallback) { return {.name = name, .fallback = fallback}; }

Parameter optional(Parameter parameter) {
  parameter.is_optional = true;
  return parameter;
}

Parameter may_equal_output(Parameter parameter) {
  parameter.may_equal_output = true;
  return parameter;
}

Dtypes dtype_of(const char* name) {
  Dtypes dtypes;
  dtypes.same_as = name;
  return dtypes;
}

Infer like(const char* name) {
  return [name](const Arguments& a) { return a.tensor(name); };
}

}  // namespace parameters

void require_dtypes(const char* function, std::span<const Parameter> list) {
  for (const Parameter& parameter : list) {
    const bool has_dtypes = !parameter.dtypes.accepted.empty() ||
                            std::ranges::count(list, parameter.dtypes.same_as, &Parameter::name) == 1;
    if (parameter.is_tensor() && !has_dtypes)
      throw std::logic_error(std::string(function) + ": " + parameter.name + " has no dtypes");
  }
}

std::string Description::name() const {
  constexpr std::string_view kPrefix = "aclnn";
  return function.substr(function.find(kPrefix) + kPrefix.size());
}

const Parameter* Description::find(const std::string& parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &Parameter::name);
  return found != parameters.end() ? &*found : nullptr;
}

const std::vector<aclDataType>& Description::dtypes_of(const Parameter& parameter) const {
  const Dtypes& dtypes = parameter.dtypes;
  return dtypes.same_as.empty() ? dtypes.accepted : dtypes_of(*find(dtypes.same_as));
}

RecordedCall recorded_call(const Description& description, const Arguments& arguments) {
  RecordedCall call;
  for (const Parameter& parameter : description.parameters) {
    const std::string& name = parameter.name;
    if (arguments.has(name)) call.tensors.insert(name);
    if (parameter.kind == Kind::tensor_list && arguments.has(name))
      call.list_length = arguments.tensors.at(name).size();
    const auto numbers = arguments.integers.find(name);
    if (numbers == arguments.integers.end()) continue;
    if (parameter.kind == Kind::integers) {
      call.arrays[name] = numbers->second;
    } else {
      call.integers[name] = numbers->second.at(0);
    }
  }
  call.reals = arguments.reals;
  return call;
}

}  // namespace openaclnn_verify
