// Finds the calls of operators in dump.json, and their tensors in dump_tensor_data/.
#include "judge/msprobe_dump.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "files/errors.h"
#include "judge/api_names.h"
#include "judge/dump_json.h"
#include "judge/dump_tensor.h"
#include "judge/not_judged.h"
#include "verify/room_descriptions.h"

namespace openaclnn_judge {

namespace fs = std::filesystem;
using nlohmann::json;
using openaclnn_files::BadInput;
using openaclnn_files::shown;

namespace {

// Returns true for the calls of operators. Backward calls also need the arguments of their forward calls.
bool is_needed(const std::string& text) {
  ApiKey key;
  if (!parse_api_key(text, key)) return false;
  if (find_api(key) != nullptr) return true;
  key.is_backward = true;
  return find_api(key) != nullptr;
}

// Returns nullptr if the call wasn't recorded.
const json* find_entry(const json& data, const std::string& key) {
  const auto found = data.find(key);
  if (found == data.end()) return nullptr;
  if (!found->is_object()) throw BadInput(fmt::format("{} isn't an object", shown(key)));
  return &*found;
}

// Fills in the call of an entry, or the reason why it is skipped.
void convert(const json& data, const Api& api, const ApiKey& key, const std::string& text,
             const std::string& where, const LoadTensor& load, DumpedCall& dumped) {
  try {
    const json* const forward = find_entry(data, key.call + ".forward");
    const json* const entry = find_entry(data, text);
    convert_api_call(api, {forward, entry}, load, dumped.call);
  } catch (const NotJudged& reason) {
    dumped.skipped = reason.what();
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}{}: {}", where, shown(text), error.what()));
  }
}

std::string task_of(const json& dump) {
  const auto task = dump.find("task");
  return task != dump.end() && task->is_string() ? task->get<std::string>() : "tensor";
}

// Visits the calls with these keys. `where` starts error messages.
void visit_calls(const json& dump, const std::vector<std::string>& keys, const std::string& where,
                 const LoadTensor& load, const VisitCall& visit) {
  if (!dump.is_object() || !dump.contains("data") || !dump["data"].is_object())
    throw BadInput(where + "it isn't an object with an object data");
  const std::string task = task_of(dump);
  for (const std::string& text : keys) {
    ApiKey key;
    const Api* const api = parse_api_key(text, key) ? find_api(key) : nullptr;
    if (api == nullptr || !dump["data"].contains(text)) continue;
    DumpedCall dumped;
    dumped.call.label = openaclnn_files::printable(text);
    dumped.call.description = openaclnn_verify::find_description(api->function);
    if (dumped.call.description == nullptr) continue;
    if (task != "tensor") {
      dumped.skipped = fmt::format("its tensors were not saved (task {})", shown(task));
    } else {
      convert(dump["data"], *api, key, text, where, load, dumped);
    }
    visit(std::move(dumped));
  }
}

// Selects the entries of data that are needed, and notes their order.
KeepEntry selection(std::vector<std::string>& keys) {
  return [&keys](int depth, const std::string& key) {
    if (depth != 2) return true;
    if (!is_needed(key)) return false;
    keys.push_back(key);
    return true;
  };
}

}  // namespace

bool is_msprobe_dump(const std::string& folder) {
  std::error_code ignored;
  const fs::path path = folder;
  return fs::exists(path / "dump.json", ignored) || fs::exists(path / "dump_tensor_data", ignored) ||
         fs::exists(path / "construct.json", ignored) || fs::exists(path / "stack.json", ignored);
}

void read_msprobe_dump(const std::string& folder, const VisitCall& visit) {
  const std::string path = folder + "/dump.json", tensors = folder + "/dump_tensor_data/";
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw BadInput(folder + ": it has no dump.json, which msprobe writes when the debugger stops");
  std::vector<std::string> keys;
  const json dump = read_dump_json(path, selection(keys));
  const LoadTensor load = [&](const RecordedTensor& tensor) {
    const std::string file = tensors + tensor.file;
    return as_recorded(file, read_dumped_tensor(file), tensor.dtype, tensor.dims);
  };
  visit_calls(dump, keys, path + ": ", load, visit);
}

void visit_msprobe_calls(std::string_view dump_json, const LoadTensor& load, const VisitCall& visit) {
  std::vector<std::string> keys;
  const json dump = parse_dump_json(dump_json, selection(keys));
  visit_calls(dump, keys, "", load, visit);
}

}  // namespace openaclnn_judge
