// Follows the description of the function: each argument has the form of its parameter.
#include "judge/own_dump.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/stored_tensor.h"
#include "judge/dump_json.h"
#include "judge/dump_tensor.h"
#include "judge/not_judged.h"
#include "verify/room_descriptions.h"

namespace openaclnn_judge {

namespace fs = std::filesystem;
using nlohmann::json;
using openaclnn_files::BadInput;
using openaclnn_files::shown;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

constexpr int kFormat = 1;

const Description& description_of(const json& call) {
  const std::string function = call.at("function");
  if (const Description* const known = openaclnn_verify::find_description(function)) return *known;
  throw BadInput(
      fmt::format("call.json has a call of {}, which isn't an operator of this program", shown(function)));
}

double real_of(const json& value) {
  if (value == "inf") return HUGE_VAL;
  if (value == "-inf") return -HUGE_VAL;
  if (value == "nan") return std::nan("");
  return value.get<double>();
}

// Returns the dtype and shape of a tensor.
Array shape_of(const json& tensor) {
  Array array;
  const std::string name = tensor.at("dtype");
  array.dtype = openaclnn_files::dtype_named(name);
  if (array.dtype == ACL_DT_UNDEFINED)
    throw BadInput(fmt::format("call.json has the unrecognized dtype '{}'", shown(name)));
  array.dims = tensor.at("shape").get<openaclnn_verify::Shape>();
  if (array.dims.size() > openaclnn_files::kMostDims) {
    throw BadInput(fmt::format("call.json has a tensor of {} dims; at most {} are accepted",
                               array.dims.size(), openaclnn_files::kMostDims));
  }
  openaclnn_files::checked_bytes("a tensor of call.json", array.dtype, array.dims);
  return array;
}

// Returns a tensor with its elements if they were saved.
Array load(const json& tensor, const std::string& folder) {
  const Array recorded = shape_of(tensor);
  if (tensor.contains("incomplete")) {
    throw NotJudged("the saved data is incomplete: " +
                    openaclnn_files::printable(tensor.at("incomplete").get<std::string>()));
  }
  if (!tensor.contains("file")) return recorded;
  const std::string file = tensor.at("file");
  if (file.find('/') != std::string::npos)
    throw BadInput("call.json names a file outside the dump: " + shown(file));
  Array loaded = read_dumped_tensor(folder + "/" + file);
  // If a tensor represents one number, only this number is kept.
  const bool is_number = loaded.dims.empty();
  if (loaded.dtype != recorded.dtype || (loaded.dims != recorded.dims && !is_number))
    throw BadInput(fmt::format("{} has another dtype or shape than call.json", shown(file)));
  return loaded;
}

void add_tensor(Call& call, const Parameter& parameter, const json& tensor, const std::string& folder) {
  if (parameter.role != Role::output) return add_input(call, parameter.name, load(tensor, folder));
  const Array shape = shape_of(tensor);
  call.values.tensors[parameter.name].push_back({shape.dtype, shape.dims});
}

void add_argument(Call& call, const Parameter& parameter, const json& entry, const std::string& folder) {
  openaclnn_verify::Arguments& values = call.values;
  const std::string& name = parameter.name;
  switch (parameter.kind) {
    case Kind::tensor: {
      const json& tensor = entry.at("tensor");
      // Otherwise it was stale, or NULL although required: phase 1 reports this again.
      if (tensor.at("given") == true && tensor.at("live") == true)
        add_tensor(call, parameter, tensor, folder);
      return;
    }
    case Kind::tensor_list:
      values.tensors[name];
      if (parameter.role != Role::output) call.inputs[name];
      for (const json& tensor : entry.at("tensors")) add_tensor(call, parameter, tensor, folder);
      return;
    case Kind::integers: values.integers[name] = entry.at("integers").get<std::vector<int64_t>>(); return;
    case Kind::integer: values.integers[name] = {entry.at("value").get<int64_t>()}; return;
    case Kind::flag: values.integers[name] = {entry.at("value").get<bool>() ? 1 : 0}; return;
    case Kind::real: values.reals[name] = real_of(entry.at("value")); return;
    case Kind::text: values.texts[name] = entry.at("value"); return;
  }
}

void require_numbers(const Call& call) {
  for (const Parameter& parameter : call.description->parameters) {
    const bool is_number = parameter.kind == Kind::integer || parameter.kind == Kind::flag;
    if ((is_number && !call.values.integers.contains(parameter.name)) ||
        (parameter.kind == Kind::real && !call.values.reals.contains(parameter.name)))
      throw BadInput("call.json lacks the argument " + parameter.name);
  }
}

OwnDump parse(const json& object, const std::string& folder) {
  if (!object.is_object() || object.value("format", 0) != kFormat)
    throw BadInput(fmt::format("call.json isn't a dump in format {}", kFormat));
  OwnDump dump;
  dump.reason = openaclnn_files::printable(object.at("reason").get<std::string>());
  dump.call.description = &description_of(object);
  dump.call.label = dump.call.description->name();
  for (const json& entry : object.at("arguments")) {
    const std::string name = entry.at("name");
    const Parameter* const parameter = dump.call.description->find(name);
    if (parameter == nullptr)
      throw BadInput(fmt::format("call.json has the argument '{}', which {} doesn't have", shown(name),
                                 dump.call.description->name()));
    if (!entry.at("given").get<bool>()) continue;
    try {
      add_argument(dump.call, *parameter, entry, folder);
    } catch (const NotJudged& reason) {
      dump.incomplete = fmt::format("{}: {}", name, reason.what());
    }
  }
  if (dump.incomplete.empty()) require_numbers(dump.call);
  return dump;
}

}  // namespace

bool is_own_dump(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/call.json", ignored);
}

OwnDump load_own_dump(const std::string& folder) {
  const json object = read_dump_json(folder + "/call.json");
  try {
    return parse(object, folder);
  } catch (const json::exception&) {
    throw BadInput(fmt::format("{}: call.json isn't a valid dump", folder));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", folder, error.what()));
  }
}

void read_own_dump(const std::string& folder, const VisitCall& visit) {
  OwnDump dump = load_own_dump(folder);
  DumpedCall dumped;
  dumped.call = std::move(dump.call);
  dumped.skipped =
      !dump.incomplete.empty()
          ? dump.incomplete
          : "OPENACLNN_DUMP saves no results; `openaclnn check --replay` judges those of this library";
  visit(std::move(dumped));
}

}  // namespace openaclnn_judge
