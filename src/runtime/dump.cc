// Writes the dumps of OPENACLNN_DUMP.
#include "runtime/dump.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/cancellation.h"
#include "base/dump_setting.h"
#include "base/env.h"
#include "base/function_name.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/file_writer.h"

namespace openaclnn {

namespace {

constexpr int kMostDumps = 100;  // per process: a loop that fails must not fill the disk

// Returns how many dumps this process made before. A forked child counts its own.
int64_t count_dump() {
  static std::atomic<uint64_t> count{0};  // the process, and its number of dumps below
  const uint64_t process = static_cast<uint64_t>(getpid()) << 32;
  uint64_t known = count.load(), before = 0;
  do {
    before = known >> 32 == process >> 32 ? known & UINT32_MAX : 0;
  } while (before <= kMostDumps && !count.compare_exchange_weak(known, process | (before + 1)));
  return static_cast<int64_t>(before);
}

// Creates a folder for one call, such as PARENT/4711-0-aclnnEmbedding. Folders of an earlier process with the same pid, which
// containers often have, stay: then the number is larger. Returns an empty string and sets errno if that fails.
std::string new_folder(const std::string& parent, int64_t number, std::string_view function) {
  if (const int error = make_folders(parent); error != 0) {
    errno = error;
    return "";
  }
  for (int run = 0; run < 1000; ++run, number += kMostDumps) {
    std::string folder = text(parent, "/", getpid(), "-", number, "-", function);
    if (mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) break;
  }
  return "";
}

// The data needed to write one tensor of a call: its role and its elements.
struct Dumped {
  const char* role = "unknown";
  bool is_read = false;
  TensorView view;
};

Dumped find_tensor(const DumpedData& data, const char* name, size_t n) {
  if (data.call == nullptr) return {};
  const Parameter* const parameter = data.call->find(name);
  if (parameter == nullptr) return {};
  Dumped found;
  found.role = !parameter->is_output ? "input" : parameter->is_input ? "reference" : "output";
  if (parameter->is_list) {
    if (data.elements == nullptr || n >= parameter->element_count) return found;
    const size_t element = parameter->first_element + n;
    found.view = data.call->elements.view(element, data.elements[element]);
  } else {
    found.view = parameter->view;
    found.view.data = (*data.data)[static_cast<size_t>(parameter - data.call->parameters.data())];
  }
  found.is_read = parameter->is_input && parameter->is_accessed;
  if (!parameter->is_accessed && parameter->is_input) found.role = "unused";
  return found;
}

void write_tensor(Json& json, const RecordedArgument::TensorText& tensor, const Dumped& dumped,
                  const std::string& folder, const std::string& file) {
  json.open('{').field("given", tensor.is_given);
  if (tensor.is_given) json.field("live", tensor.is_live);
  if (tensor.is_live) {
    json.field("dtype", dtype_name(tensor.dtype)).field("role", dumped.role);
    json.field("shape", std::span<const int64_t>(tensor.dims));
    json.field("strides", std::span<const int64_t>(tensor.strides)).field("offset", tensor.offset);
  }
  if (dumped.is_read) {
    const std::string path = folder + "/" + file;
    if (const std::string why = write_npy(dumped.view, path); why.empty()) {
      json.field("file", file);
    } else {  // a part of the data would only take space
      unlink(path.c_str());
      log_message(LogLevel::error, text("OPENACLNN_DUMP: '", path, "': ", why));
      json.field("incomplete", why);
    }
  }
  json.close('}');
}

void write_argument(Json& json, const RecordedArgument& argument, const std::string& folder,
                    const DumpedData& data) {
  using Kind = RecordedArgument::Kind;
  json.open('{').field("name", argument.name).field("given", argument.is_given);
  switch (argument.kind) {
    case Kind::tensor:
      json.key("tensor");
      write_tensor(json, argument.tensors[0], find_tensor(data, argument.name, 0), folder,
                   text(argument.name, ".npy"));
      break;
    case Kind::list:
      json.key("tensors").open('[');
      for (size_t n = 0; n < argument.tensors.size(); ++n) {
        write_tensor(json, argument.tensors[n], find_tensor(data, argument.name, n), folder,
                     text(argument.name, "-", n, ".npy"));
      }
      json.close(']');
      break;
    case Kind::integers: json.field("integers", std::span<const int64_t>(argument.integers)); break;
    case Kind::integer: json.field("value", argument.integers[0]); break;
    case Kind::real: json.field("value", argument.real); break;
    case Kind::flag: json.field("value", argument.integers[0] != 0); break;
    case Kind::text: json.field("value", argument.text); break;
  }
  json.close('}');
}

}  // namespace

bool is_dumping() { return !environment().dump.empty(); }

bool is_selected_for_dump(const Call& call) {
  std::istringstream names(split_dump_setting(environment().dump).names);
  for (std::string name; std::getline(names, name, ',');) {
    const std::string_view wanted = without_aclnn(name);
    if (name == "all" || wanted == without_aclnn(call.function()) || wanted == without_aclnn(call.op->name))
      return true;
  }
  return false;
}

void dump_call(const CallRecord& record, std::string_view function, const std::string& reason,
               const DumpedData& data) {
  const CancellationHold no_cancellation;
  const int64_t number = count_dump();
  if (number >= kMostDumps) {
    if (number == kMostDumps)
      log_message(LogLevel::warn,
                  text("OPENACLNN_DUMP: ", kMostDumps, " calls were saved; later calls are not saved"));
    return;
  }
  const std::string parent = split_dump_setting(environment().dump).folder;
  const std::string folder = new_folder(parent, number, function);
  if (folder.empty()) {
    log_message(LogLevel::error,
                text("OPENACLNN_DUMP: no folder can be created in '", parent, "': ", std::strerror(errno)));
    return;
  }
  Json json;
  json.open('{').field("format", 1).field("operator", function).field("function", record.function());
  json.field("reason", reason).key("arguments").open('[');
  for (const RecordedArgument& argument : record.arguments()) write_argument(json, argument, folder, data);
  json.close(']').close('}');
  const std::string whole = json.text() + "\n";
  FileWriter file(folder + "/call.json");
  file.append(whole.data(), whole.size());
  if (const std::string why = file.finish(); !why.empty()) {
    log_message(LogLevel::error, text("OPENACLNN_DUMP: '", folder, "/call.json': ", why));
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);  // tensors of an unknown call
  }
}

}  // namespace openaclnn
