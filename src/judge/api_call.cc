// Follows the signature of the function: positional arguments, keyword arguments, results.
#include "judge/api_call.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/stored_tensor.h"
#include "judge/not_judged.h"

namespace openaclnn_judge {

using nlohmann::json;
using openaclnn_files::BadInput;
using openaclnn_files::shown;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

constexpr size_t kMostNameBytes = 255;  // of a file

bool is_tensor(const json& entry) { return entry.is_object() && entry.contains("shape"); }

const json& list_of(const json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_array()) throw BadInput(fmt::format("{} isn't a list", name));
  return *found;
}

std::string file_of(const json& entry, const std::string& name) {
  const auto file = entry.find("data_name");
  if (file == entry.end() || file->is_null()) throw NotJudged(fmt::format("{} was not saved", name));
  if (!file->is_string() || file->get_ref<const std::string&>().empty())
    throw BadInput(fmt::format("data_name of {} isn't the name of a file", name));
  const std::string& text = file->get_ref<const std::string&>();
  if (text.size() > kMostNameBytes)
    throw BadInput(fmt::format("data_name of {} has {} bytes; at most {} are accepted", name, text.size(),
                               kMostNameBytes));
  if (text.find('/') != std::string::npos || text.find('\0') != std::string::npos)
    throw BadInput(fmt::format("data_name of {} names a file outside the dump: {}", name, shown(text)));
  return text;
}

// Returns the tensor without its file.
RecordedTensor shape_of(const json& entry, const std::string& name) {
  RecordedTensor tensor;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    throw BadInput(fmt::format("dtype of {} isn't a text", name));
  tensor.dtype = openaclnn_files::dtype_named(dtype->get_ref<const std::string&>());
  if (tensor.dtype == ACL_DT_UNDEFINED)
    throw BadInput(fmt::format("{} has the unrecognized dtype '{}'", name, shown(dtype->get<std::string>())));
  const json& shape = list_of(entry, "shape");
  if (shape.size() > openaclnn_files::kMostDims) {
    throw BadInput(fmt::format("{} has {} dims; at most {} are accepted", name, shape.size(),
                               openaclnn_files::kMostDims));
  }
  for (const json& dim : shape) {
    const bool is_dim = dim.is_number_unsigned() ? dim.get<uint64_t>() <= INT64_MAX
                                                 : dim.is_number_integer() && dim.get<int64_t>() >= 0;
    if (!is_dim)
      throw BadInput(
          fmt::format("the shape of {} has an entry that isn't an integer from 0 to 2^63 - 1", name));
    tensor.dims.push_back(dim.get<int64_t>());
  }
  return tensor;
}

Array load_tensor(const json& entry, const std::string& name, const LoadTensor& load) {
  if (!is_tensor(entry)) throw BadInput(fmt::format("{} isn't a tensor", name));
  if (entry.contains("placements")) throw NotJudged("its tensors are distributed over devices");
  RecordedTensor tensor = shape_of(entry, name);
  tensor.file = file_of(entry, name);
  return load(tensor);
}

// Returns the number of {"type": "int", "value": 3}, or of the entry itself.
const json& value_of(const json& entry) {
  if (!entry.is_object()) return entry;
  const auto value = entry.find("value");
  return value == entry.end() ? entry : *value;
}

// Numbers that JSON lacks are texts here.
double real_of(const json& entry, const std::string& name) {
  const json& value = value_of(entry);
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  throw BadInput(fmt::format("{} isn't a number", name));
}

int64_t integer_of(const json& entry, const std::string& name) {
  const json& value = value_of(entry);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    throw BadInput(fmt::format("{} isn't an integer from -2^63 to 2^63 - 1", name));
  return value.get<int64_t>();
}

std::vector<int64_t> integers_in(const Array& array, const std::string& name) {
  if (array.dtype != ACL_INT64 && array.dtype != ACL_INT32)
    throw BadInput(fmt::format("{} isn't a tensor of int64 or int32", name));
  std::vector<int64_t> integers(static_cast<size_t>(array.numel()));
  for (size_t k = 0; k < integers.size(); ++k) {
    if (array.dtype == ACL_INT64) {
      std::memcpy(&integers[k], array.data.get() + k * sizeof(int64_t), sizeof(int64_t));
    } else {
      int32_t narrow = 0;
      std::memcpy(&narrow, array.data.get() + k * sizeof narrow, sizeof narrow);
      integers[k] = narrow;
    }
  }
  return integers;
}

template <class T>
Array one_element(aclDataType dtype, T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return openaclnn_verify::owned_array(dtype, {1}, std::move(bytes));
}

class Converter {
 public:
  Converter(const Api& api, const LoadTensor& load, Call& call) : api_(api), load_(load), call_(call) {}

  void add_arguments(const json& forward) {
    const json& positional = list_of(forward, "input_args");
    static const json kNone = json::object();
    const auto keywords = forward.find("input_kwargs");
    const json& by_name = keywords == forward.end() || keywords->is_null() ? kNone : *keywords;
    if (!by_name.is_object()) throw BadInput("input_kwargs isn't an object");
    require_known(positional, by_name);
    for (size_t k = 0; k < api_.arguments.size(); ++k) {
      const ApiArgument& argument = api_.arguments[k];
      const auto named = by_name.find(argument.name);
      const json* const entry = k < positional.size()    ? &positional[k]
                                : named != by_name.end() ? &*named
                                                         : nullptr;
      if (entry != nullptr && !entry->is_null()) add_argument(argument, *entry);
    }
    for (const ApiArgument& argument : api_.arguments) {
      for (const std::string& name : argument.parameters) require_given(parameter(name), argument.name);
    }
  }

  void add_gradient(const json& entry) { add(parameter(api_.gradient), entry, "the output's gradient"); }

  void add_results(const json& results) {
    // A tuple may be one entry.
    const bool is_tuple = results.size() == 1 && results[0].is_array() && api_.results.size() > 1;
    const json& list = is_tuple ? results[0] : results;
    for (size_t k = 0; k < list.size(); ++k) {
      if (list[k].is_null()) continue;
      const std::string name = fmt::format("output {}", k);
      if (!api_.is_backward() && k >= api_.results.size()) continue;
      add_result(api_.is_backward() ? gradient_like(list[k], name) : api_.results[k], list[k], name);
    }
    if (call_.results.empty()) throw NotJudged("none of its results was saved");
  }

 private:
  const Parameter& parameter(const std::string& name) const {
    const Parameter* const found = call_.description->find(name);
    if (found == nullptr) throw std::logic_error(call_.description->function + " has no " + name);
    return *found;
  }

  void add_result(const std::string& parameter, const json& entry, const std::string& name) {
    std::vector<Array>& arrays = call_.results[parameter];
    if (!entry.is_array()) return arrays.push_back(load_tensor(entry, name, load_));
    for (const json& one : entry) arrays.push_back(load_tensor(one, name, load_));
  }

  // msprobe leaves out the gradients of some arguments, so that only the shape tells which gradient an entry is.
  const std::string& gradient_like(const json& entry, const std::string& name) const {
    if (!is_tensor(entry)) throw BadInput(fmt::format("{} isn't a tensor", name));
    const RecordedTensor tensor = shape_of(entry, name);
    for (const std::string& result : api_.results) {
      if (!call_.results.contains(result) && inferred(result) == tensor.dims) return result;
    }
    throw BadInput(fmt::format("{} has shape [{}], but no argument that needs a gradient has it", name,
                               fmt::join(tensor.dims, ", ")));
  }

  openaclnn_verify::Shape inferred(const std::string& result) const {
    try {
      return parameter(result).infer(call_.values).dims;
    } catch (const std::invalid_argument& error) {
      throw BadInput(error.what());
    }
  }

  void require_given(const Parameter& parameter, const std::string& name) const {
    const bool is_given = call_.values.has(parameter.name) || call_.values.reals.contains(parameter.name) ||
                          call_.values.integers.contains(parameter.name);
    if (is_given || parameter.is_optional) return;
    if (!api_.is_operator && !parameter.fallback.empty()) return;
    if (api_.is_operator) throw NotJudged(fmt::format("the argument {} was not saved", name));
    throw BadInput(fmt::format("the argument {} is missing", name));
  }

  void require_known(const json& positional, const json& by_name) const {
    if (positional.size() > api_.arguments.size()) {
      throw NotJudged(fmt::format("it has {} positional arguments; the known signature has {}",
                                  positional.size(), api_.arguments.size()));
    }
    for (const auto& [name, entry] : by_name.items()) {
      size_t at = 0;
      while (at < api_.arguments.size() && api_.arguments[at].name != name) ++at;
      if (at == api_.arguments.size())
        throw NotJudged(fmt::format("it has the argument {}, which the known signature lacks", shown(name)));
      if (at < positional.size())
        throw BadInput(fmt::format("{} is both a positional and a keyword argument", name));
    }
  }

  void add_argument(const ApiArgument& argument, const json& entry) {
    const std::string& name = argument.name;
    switch (argument.use) {
      case ArgumentUse::ignored: return;
      case ArgumentUse::must_be_unset:
        if (value_of(entry) != json(false))
          throw NotJudged(fmt::format("it has the argument {}, which no operator supports", name));
        return;
      case ArgumentUse::rows: {
        if (!is_tensor(entry)) throw BadInput(fmt::format("{} isn't a tensor", name));
        const RecordedTensor table = shape_of(entry, name);
        if (table.dims.empty()) throw BadInput(fmt::format("{} has rank 0; it must have rows", name));
        call_.values.integers[argument.parameters[0]] = {table.dims[0]};
        return;
      }
      case ArgumentUse::row_or_none: {
        const int64_t row = integer_of(entry, name);
        const auto rows = call_.values.integers.find(argument.parameters[1]);
        const bool is_from_end = row < 0 && rows != call_.values.integers.end() && row >= -rows->second[0];
        call_.values.integers[argument.parameters[0]] = {is_from_end ? row + rows->second[0] : row};
        return;
      }
      case ArgumentUse::parameter: break;
    }
    if (argument.parameters.size() == 1) return add(parameter(argument.parameters[0]), entry, name);
    if (!entry.is_array() || entry.size() != argument.parameters.size())
      throw BadInput(fmt::format("{} isn't a tuple of {} entries", name, argument.parameters.size()));
    for (size_t k = 0; k < entry.size(); ++k)
      add(parameter(argument.parameters[k]), entry[k], fmt::format("{}[{}]", name, k));
  }

  // Adds an argument in the form of the parameter. Functions take numbers for tensors of one element, and tensors
  // for numbers.
  void add(const Parameter& parameter, const json& entry, const std::string& name) {
    openaclnn_verify::Arguments& values = call_.values;
    switch (parameter.kind) {
      case Kind::tensor: return add_input(call_, parameter.name, tensor_or_number(parameter, entry, name));
      case Kind::tensor_list:
        if (!entry.is_array()) throw BadInput(fmt::format("{} isn't a list of tensors", name));
        for (const json& one : entry) add_input(call_, parameter.name, load_tensor(one, name, load_));
        return;
      case Kind::integers: values.integers[parameter.name] = integers(entry, name); return;
      case Kind::integer:
      case Kind::flag: {
        const std::vector<int64_t> one = integers(entry, name);
        if (one.size() != 1) throw BadInput(fmt::format("{} isn't one integer", name));
        values.integers[parameter.name] = one;
        return;
      }
      case Kind::real:
        if (is_tensor(entry)) {
          const Array array = load_tensor(entry, name, load_);
          if (array.numel() != 1) throw BadInput(fmt::format("{} isn't one number", name));
          values.reals[parameter.name] = array.get(0);
        } else {
          values.reals[parameter.name] = real_of(entry, name);
        }
        return;
      case Kind::text:
        if (!value_of(entry).is_string()) throw BadInput(fmt::format("{} isn't a text", name));
        values.texts[parameter.name] = value_of(entry).get<std::string>();
        return;
    }
  }

  Array tensor_or_number(const Parameter& parameter, const json& entry, const std::string& name) const {
    if (is_tensor(entry)) return load_tensor(entry, name, load_);
    if (std::ranges::count(call_.description->dtypes_of(parameter), ACL_INT64) > 0)
      return one_element(ACL_INT64, integer_of(entry, name));
    return one_element(ACL_FLOAT, static_cast<float>(real_of(entry, name)));
  }

  std::vector<int64_t> integers(const json& entry, const std::string& name) const {
    if (is_tensor(entry)) return integers_in(load_tensor(entry, name, load_), name);
    const json& list = value_of(entry);
    if (!list.is_array()) return {integer_of(entry, name)};
    std::vector<int64_t> integers;
    for (const json& one : list) integers.push_back(integer_of(one, name));
    return integers;
  }

  const Api& api_;
  const LoadTensor& load_;
  Call& call_;
};

}  // namespace

void convert_api_call(const Api& api, const ApiEntries& entries, const LoadTensor& load, Call& call) {
  if (entries.forward == nullptr) throw NotJudged("its forward call wasn't recorded");
  Converter converter(api, load, call);
  converter.add_arguments(*entries.forward);
  if (!api.is_backward()) return converter.add_results(list_of(*entries.forward, "output"));
  const json& gradients = list_of(*entries.backward, "input");
  if (gradients.size() != 1)
    throw BadInput(fmt::format("input has {} entries; it must have 1", gradients.size()));
  if (gradients[0].is_null()) throw NotJudged("its output has no gradient");
  converter.add_gradient(gradients[0]);
  converter.add_results(list_of(*entries.backward, "output"));
}

}  // namespace openaclnn_judge
