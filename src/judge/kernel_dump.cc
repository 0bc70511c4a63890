// Finds the tensors of each call by the names of files, and converts them as the entries of a dump.json.
#include "judge/kernel_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/bin.h"
#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/folder.h"
#include "files/tensor_file.h"
#include "judge/api_call.h"
#include "judge/dump_json.h"
#include "judge/dump_tensor.h"
#include "judge/not_judged.h"
#include "judge/words.h"
#include "verify/room_descriptions.h"

namespace openaclnn_judge {

namespace fs = std::filesystem;
using nlohmann::json;
using openaclnn_files::BadInput;
using openaclnn_files::entries_of;
using openaclnn_files::shown;

namespace {

constexpr size_t kMostTensors = 64;  // of one side of a call
constexpr const char* kAttributes = "attributes.json";

// The parts of the name of a tensor's file.
struct TensorFile {
  std::string call, type;  // "NsaCompress.Default_op0.1.2.1700000000", "NsaCompress"
  bool is_output = false;
  size_t index = 0;
  std::string format, dtype;  // empty: unknown
  std::string path;
};

// A call's tensors by their positions.
struct KernelCall {
  std::string label, type;
  std::map<size_t, TensorFile> inputs, outputs;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

std::optional<size_t> index_of_tensor(std::string_view text) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (!is_number(text) || error != std::errc() || index >= kMostTensors) return {};
  return index;
}

// Returns nothing if the name isn't that of a tensor.
std::optional<TensorFile> parse_name(const std::string& name) {
  TensorFile file;
  const size_t input = name.rfind(".input."), output = name.rfind(".output.");
  file.is_output = output != std::string::npos && (input == std::string::npos || output > input);
  const size_t at = file.is_output ? output : input;
  if (at == std::string::npos || at == 0) return {};
  std::vector<std::string> rest = split(name.substr(name.find('.', at + 1) + 1));
  for (const char* const ending : {"json", "csv"}) {
    if (rest.back() == ending) return {};
  }
  for (const char* const ending : {"npy", "bin", "pt"}) {
    if (rest.size() > 1 && rest.back() == ending) rest.pop_back();
  }
  const std::optional<size_t> index = index_of_tensor(rest[0]);
  if (!index || rest.size() > 3) return {};
  file.index = *index;
  if (rest.size() > 1) file.format = rest[1];
  if (rest.size() > 2) file.dtype = rest[2];
  file.call = name.substr(0, at);
  file.type = name.substr(0, name.find('.'));
  return file;
}

// Names of CANN's own files: {type}.{name}.{task}.{stream}.{timestamp}
bool is_undecoded(const std::string& name) {
  const std::vector<std::string> parts = split(name);
  return parts.size() >= 5 && is_number(parts.back()) && is_number(parts[parts.size() - 2]) &&
         is_number(parts[parts.size() - 3]);
}

// MindSpore lists the long names of such files in mapping.csv.
bool is_shortened(const std::string& name) {
  return name.size() >= 32 && is_number(name.substr(0, 32)) &&
         (name.size() == 32 || name.substr(32) == ".npy");
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code broken_link;
    if (entry.is_regular_file(broken_link)) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_of_kernel(const std::string& name) {
  return parse_name(name) || is_undecoded(name) || is_shortened(name);
}

Array read_raw(const std::string& path) {
  try {
    const openaclnn_files::OpenFile file(path);
    const openaclnn_files::FileTensor tensor =
        openaclnn_files::read_elements(file, openaclnn_files::read_shape_file(path + ".json", file.size()));
    return openaclnn_verify::owned_array(tensor.dtype, tensor.dims, tensor.bytes);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", path, error.what()));
  }
}

Array read_file(const TensorFile& file) {
  const fs::path path = file.path;
  const bool has_ending =
      path.extension() == ".npy" || path.extension() == ".bin" || path.extension() == ".pt";
  std::error_code ignored;
  if (!has_ending && !fs::exists(file.path + ".json", ignored))
    throw NotJudged(fmt::format("{} lacks a shape; {}.json can give it as {}", path.filename().string(),
                                path.filename().string(), R"({"dtype": "bfloat16", "shape": [2, 3]})"));
  const Array array = has_ending ? read_dumped_tensor(file.path) : read_raw(file.path);
  const aclDataType named = openaclnn_files::dtype_named(file.dtype);
  return named == ACL_DT_UNDEFINED ? array : as_recorded(file.path, array, named, array.dims);
}

void require_plain_format(const TensorFile& file) {
  constexpr const char* kPlain[] = {"", "ND", "DefaultFormat", "NCHW", "NHWC", "NCL"};
  if (std::ranges::count(kPlain, file.format) > 0) return;
  throw NotJudged(fmt::format("{} {} has the format {}; only ND is supported",
                              file.is_output ? "output" : "input", file.index, shown(file.format)));
}

// Reads the tensors of one side, and returns their entries.
json entries_of(const std::map<size_t, TensorFile>& side, std::map<std::string, Array>& arrays) {
  json entries = json::array();
  for (const auto& [index, file] : side) {
    require_plain_format(file);
    const Array array = read_file(file);
    const std::string name = fmt::format("{}{}", file.is_output ? "output" : "input", index);
    while (entries.size() < index) entries.push_back(nullptr);
    entries.push_back(
        {{"dtype", openaclnn_files::torch_name(array.dtype)}, {"shape", array.dims}, {"data_name", name}});
    arrays[name] = array;
  }
  return entries;
}

// Returns the attributes of a call: those of its name, or those of its type.
json attributes_of(const KernelCall& call, const json& attributes) {
  for (const std::string& key : {call.label, call.type}) {
    const auto found = attributes.find(key);
    if (found != attributes.end()) return *found;
  }
  return json::object();
}

json read_attributes(const std::string& folder) {
  const std::string path = folder + "/" + kAttributes;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return json::object();
  json attributes = read_dump_json(path);
  if (!attributes.is_object()) throw BadInput(path + ": it isn't an object");
  for (const auto& [type, values] : attributes.items()) {
    if (!values.is_object()) throw BadInput(fmt::format("{}: {} isn't an object", path, shown(type)));
  }
  return attributes;
}

void visit_call(const KernelCall& call, const std::string& folder, const json& attributes,
                const VisitCall& visit) {
  ApiKey key;
  if (!parse_api_key("Kernel." + call.type + ".0.forward", key)) return;
  const Api* const api = find_api(key);
  if (api == nullptr || !api->is_operator) return;
  DumpedCall dumped;
  dumped.call.label = openaclnn_files::printable(call.label);
  dumped.call.description = openaclnn_verify::find_description(api->function);
  try {
    std::map<std::string, Array> arrays;
    json forward = {{"input_args", entries_of(call.inputs, arrays)},
                    {"input_kwargs", attributes_of(call, attributes)},
                    {"output", entries_of(call.outputs, arrays)}};
    const LoadTensor load = [&](const RecordedTensor& tensor) { return arrays.at(tensor.file); };
    convert_api_call(*api, {&forward, nullptr}, load, dumped.call);
  } catch (const NotJudged& reason) {
    dumped.skipped = reason.what();
    if (dumped.skipped.ends_with("was not saved") && !call.outputs.empty())
      dumped.skipped += fmt::format("; {} can give it", kAttributes);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}: {}", folder, dumped.call.label, error.what()));
  }
  visit(std::move(dumped));
}

}  // namespace

bool is_kernel_dump(const std::string& folder) { return std::ranges::any_of(files_in(folder), is_of_kernel); }

void read_kernel_dump(const std::string& folder, const VisitCall& visit) {
  std::map<std::string, KernelCall> calls;
  for (const std::string& name : files_in(folder)) {
    std::optional<TensorFile> file = parse_name(name);
    if (!file && is_undecoded(name)) {
      throw BadInput(fmt::format("{}/{}: it has CANN's own format; convert it to .npy with msaccucmp", folder,
                                 shown(name)));
    }
    if (!file && is_shortened(name))
      throw BadInput(
          fmt::format("{}/{}: its name was shortened; rename it as mapping.csv says", folder, name));
    if (!file) continue;
    file->path = folder + "/" + name;
    KernelCall& call = calls[file->call];
    call.label = file->call;
    call.type = file->type;
    std::map<size_t, TensorFile>& side = file->is_output ? call.outputs : call.inputs;
    if (!side.emplace(file->index, *file).second)
      throw BadInput(fmt::format("{}/{}: another file has the same tensor", folder, shown(name)));
  }
  const json attributes = read_attributes(folder);
  for (const auto& [label, call] : calls) visit_call(call, folder, attributes, visit);
}

bool is_atb_dump(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/before/intensor0.bin", ignored) ||
         fs::exists(folder + "/after/outtensor0.bin", ignored);
}

void read_atb_dump(const std::string& folder, const VisitCall& visit) {
  KernelCall call;
  std::string name = fs::path(folder).lexically_normal().filename().string();
  call.label = name;
  while (!name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_'))
    name.erase(0, 1);
  constexpr std::string_view kOperation = "Operation";
  if (name.ends_with(kOperation)) name.resize(name.size() - kOperation.size());
  call.type = name;
  for (const bool is_output : {false, true}) {
    std::error_code ignored;
    for (size_t k = 0; k < kMostTensors; ++k) {
      TensorFile file;
      file.is_output = is_output;
      file.index = k;
      file.path = fmt::format("{}/{}{}.bin", folder, is_output ? "after/outtensor" : "before/intensor", k);
      if (fs::exists(file.path, ignored)) (is_output ? call.outputs : call.inputs)[k] = file;
    }
  }
  visit_call(call, folder, read_attributes(folder), visit);
}

}  // namespace openaclnn_judge
