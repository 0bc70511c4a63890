// Reads a dump, repeats the call, and compares its results with the room's oracle.
#include "replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "acl/acl.h"
#include "base/dtype.h"
#include "base/tensor_view.h"
#include "library.h"
#include "program.h"
#include "verify/room_cases.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using openaclnn_verify::Description;
using openaclnn_verify::HostTensor;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

aclDataType dtype_named(const std::string& name) {
  for (int value = -1; value < 64; ++value) {
    const auto* const info = openaclnn::find_dtype(static_cast<aclDataType>(value));
    if (info != nullptr && name == info->name) return info->dtype;
  }
  throw BadInput(fmt::format("call.json has the unrecognized dtype '{}'", shown(name)));
}

double real_of(const json& value) {
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::nan("");
  return value.get<double>();
}

const Description& description_of(const json& call) {
  const std::string function = call.at("function");
  if (const Description* const known = openaclnn_verify::find_description(function)) return *known;
  throw BadInput(
      fmt::format("call.json has a call of {}, which isn't an operator of this program", shown(function)));
}

LoadedTensor load(const json& tensor, const std::string& folder, Role role) {
  const std::vector<int64_t> dims = tensor.at("shape");
  const aclDataType dtype = dtype_named(tensor.at("dtype"));
  if (tensor.contains("incomplete"))
    throw BadInput("the saved data is incomplete: " + printable(tensor.at("incomplete").get<std::string>()));
  if (tensor.contains("file")) {
    const std::string file = tensor.at("file");
    if (file.find('/') != std::string::npos)
      throw BadInput("call.json names a file outside the dump: " + shown(file));
    LoadedTensor loaded = load_tensor(folder + "/" + file);
    // If a tensor represents one number, only this number is kept.
    const bool is_number = loaded.header.dims.empty();
    if (loaded.header.dtype != dtype || (loaded.header.dims != dims && !is_number))
      throw BadInput(fmt::format("{} has another dtype or shape than call.json", shown(file)));
    return loaded;
  }
  if (dims.size() > openaclnn::kMaxRank)
    throw BadInput(fmt::format("call.json has a tensor of {} dims; at most {} are accepted", dims.size(),
                               openaclnn::kMaxRank));
  LoadedTensor made = make_tensor(dtype, dims);
  const bool has_no_data = role != Role::output && tensor.at("role") == "unknown";
  if (has_no_data && made.header.bytes > 0 &&
      aclrtMemset(made.memory->data, made.header.bytes, 0, made.header.bytes) != 0)
    throw Failure(error_text());
  return made;
}

LoadedArguments recorded_arguments(const json& call, const Description& description,
                                   const std::string& folder) {
  LoadedArguments arguments;
  for (const json& entry : call.at("arguments")) {
    const Parameter* const parameter = description.find(entry.at("name"));
    if (parameter == nullptr)
      throw BadInput(fmt::format("call.json has the argument '{}', which {} doesn't have",
                                 shown(entry.at("name").get<std::string>()), description.name()));
    if (!entry.at("given").get<bool>()) continue;
    const std::string& name = parameter->name;
    switch (parameter->kind) {
      case Kind::tensor:
        if (entry.at("tensor").at("given") == true && entry.at("tensor").at("live") == true)
          arguments.add(name, load(entry.at("tensor"), folder, parameter->role));
        break;
      case Kind::tensor_list:
        arguments.add_empty_list(name);
        for (const json& tensor : entry.at("tensors"))
          arguments.add(name, load(tensor, folder, parameter->role));
        break;
      case Kind::integers:
        arguments.values.integers[name] = entry.at("integers").get<std::vector<int64_t>>();
        break;
      case Kind::integer: arguments.values.integers[name] = {entry.at("value").get<int64_t>()}; break;
      case Kind::flag: arguments.values.integers[name] = {entry.at("value").get<bool>() ? 1 : 0}; break;
      case Kind::real: arguments.values.reals[name] = real_of(entry.at("value")); break;
      case Kind::text: arguments.values.texts[name] = entry.at("value"); break;
    }
  }
  for (const Parameter& parameter : description.parameters) {
    const bool is_number = parameter.kind == Kind::integer || parameter.kind == Kind::flag;
    if ((is_number && !arguments.values.integers.contains(parameter.name)) ||
        (parameter.kind == Kind::real && !arguments.values.reals.contains(parameter.name)))
      throw BadInput("call.json lacks the argument " + parameter.name);
  }
  // A tensor without data was stale, or NULL although required: phase 1 reports this again.
  return arguments;
}

// Returns the tensors of the call for a judge: in the order of the signature, with lists expanded.
std::vector<HostTensor> snapshot(const Description& description, const LoadedArguments& arguments) {
  std::vector<HostTensor> tensors;
  for (const Parameter& parameter : description.parameters) {
    if (!arguments.has(parameter.name)) continue;
    for (const LoadedTensor& tensor : arguments.tensors.at(parameter.name)) {
      HostTensor& copy = tensors.emplace_back(tensor.header.dtype, tensor.header.dims);
      if (tensor.header.bytes > 0) tensor.memory->get(copy.element(0), tensor.header.bytes);
    }
  }
  return tensors;
}

openaclnn_verify::JudgeResults judge_of(const Description& description, const LoadedArguments& arguments) {
  const openaclnn_verify::RecordedCall call = openaclnn_verify::recorded_call(description, arguments.values);
#define OPENACLNN_OPERATOR(folder_, name_) \
  if (description.room == #folder_) return openaclnn_verify::recorded_judge_of_##folder_(call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  throw Failure(description.name() + " has no judge");
}

json read_call(const std::string& folder) {
  std::ifstream file(folder + "/call.json");
  json call = json::parse(file, nullptr, false);
  if (!call.is_object() || call.value("format", 0) != 1) throw BadInput("call.json isn't a dump in format 1");
  return call;
}

}  // namespace

std::vector<std::string> dump_folders(const std::string& path) {
  if (fs::exists(path + "/call.json")) return {path};
  std::vector<std::string> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (fs::exists(entry.path() / "call.json")) folders.push_back(entry.path().string());
  }
  if (folders.empty())
    throw BadInput(fmt::format("{}: neither this folder nor its subfolders contain a call.json", path));
  std::ranges::sort(folders);
  return folders;
}

Replay replay(const std::string& folder, openaclnn_verify::Judge& judge) {
  try {
    const json call = read_call(folder);
    const Description& description = description_of(call);
    LoadedArguments arguments = recorded_arguments(call, description, folder);
    Replay done;
    done.operator_name = description.name();
    done.reason = printable(call.at("reason").get<std::string>());
    const std::vector<HostTensor> before = snapshot(description, arguments);
    done.result = call_operator(description, arguments);
    if (done.result.code != 0) return done;
    judge.start_case(folder);
    judge_of(description, arguments)(before, snapshot(description, arguments), judge);
    done.is_judged = true;
    return done;
  } catch (const json::exception& error) {
    throw BadInput(fmt::format("{}: call.json isn't a valid dump", folder));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", folder, error.what()));
  }
}

}  // namespace openaclnn_cli
