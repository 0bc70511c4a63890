// Interprets the section "dump" of acl.json.
#include "runtime/dump_settings.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "acl/acl_base.h"
#include "base/current_folder.h"
#include "base/json_view.h"
#include "base/text.h"

namespace openaclnn {

namespace {

constexpr size_t kMostShown = 100;  // bytes of a wrong value in an error message

Status refused(const std::string& file, const std::string& key, JsonView value, const std::string& accepted) {
  const std::string_view shown = value.text().substr(0, kMostShown);
  return {ACL_ERROR_INVALID_DUMP_CONFIG,
          text("configPath '", file, "': dump.", key, " is ", shown,
               shown.size() < value.text().size() ? "..." : "", "; ", accepted)};
}

// Reads the members of one section and keeps the first failure.
class Section {
 public:
  Section(const std::string& file, DumpSettings& settings) : file_(file), settings_(settings) {}

  void read(const std::string& key, JsonView value) {
    if (!status_.ok()) return;
    if (!seen_.insert(key).second) return refuse(key, value, "it must not be repeated");
    if (key == "dump_path") return read_path(key, value);
    if (key == "dump_mode") return read_mode(key, value);
    if (key == "dump_list") return read_list(key, value);
    // Operators are the only level, tensors the only kind of data. There are no iterations, and no overflow of
    // operators is watched.
    if (key == "dump_op_switch" || key == "dump_switch") return (void)choose(key, value, {"on"});
    if (key == "dump_level") return (void)choose(key, value, {"op", "all"});
    if (key == "dump_data") return (void)choose(key, value, {"tensor"});
    if (key == "dump_debug") return (void)choose(key, value, {"off"});
    if (key == "dump_step") return (void)choose(key, value, {""});
    refuse(key, value,
           "this library follows dump_path, dump_mode, dump_list, dump_op_switch, dump_level, dump_data, "
           "dump_debug and dump_step only");
  }

  Status finish() {
    if (status_.ok() && settings_.path.empty()) {
      status_ = {ACL_ERROR_INVALID_DUMP_CONFIG,
                 text("configPath '", file_,
                      "': dump.dump_op_switch is \"on\" but dump.dump_path is missing; it "
                      "must be the folder for dumps")};
    }
    return std::move(status_);
  }

 private:
  void refuse(const std::string& key, JsonView value, const std::string& accepted) {
    status_ = refused(file_, key, value, accepted);
  }

  // Returns which of the texts the value is, or nullopt after a failure.
  std::optional<size_t> choose(const std::string& key, JsonView value,
                               std::initializer_list<const char*> accepted) {
    std::string list;
    size_t position = 0;
    for (const char* const candidate : accepted) {
      if (value.is_string() && value.string() == candidate) return position;
      list += text(position++ == 0 ? "" : " or ", "\"", candidate, "\"");
    }
    refuse(key, value, "it must be " + list);
    return std::nullopt;
  }

  void read_mode(const std::string& key, JsonView value) {
    const std::optional<size_t> mode = choose(key, value, {"output", "input", "all"});
    settings_.outputs = mode != 1;
    settings_.inputs = mode != 0;
  }

  void read_path(const std::string& key, JsonView value) {
    const std::string path = value.is_string() ? value.string() : "";
    if (path.empty() || path.find('\0') != std::string::npos)
      return refuse(key, value, "it must be the path of a folder");
    std::optional<std::string> from_root = path_from_root(path);
    if (!from_root) return refuse(key, value, "it must be an absolute path: there is no current folder");
    settings_.path = std::move(*from_root);
  }

  // Each element may name a model, operators ("layer"), or both. Elements of models don't apply to calls.
  void read_list(const std::string& key, JsonView value) {
    const char* const kAccepted =
        "it must be an array of objects with \"model_name\", or with \"layer\", an array of operators' names";
    bool is_valid = value.is_array();
    std::vector<std::string> names;
    const auto read_layers = [&](JsonView layers) {
      is_valid = is_valid && layers.is_array();
      layers.for_each([&](const std::string&, JsonView name) {
        is_valid = is_valid && name.is_string();
        if (is_valid) names.push_back(name.string());
      });
    };
    value.for_each([&](const std::string&, JsonView element) {
      is_valid = is_valid && element.is_object();
      std::optional<JsonView> layers;
      bool is_model = false;
      element.for_each([&](const std::string& member, JsonView of) {
        if (member == "layer") {
          layers = of;
        } else {
          is_model = true;
          is_valid = is_valid && member == "model_name" && of.is_string();
        }
      });
      if (layers && !is_model) read_layers(*layers);
    });
    if (!is_valid) return refuse(key, value, kAccepted);
    settings_.names = std::move(names);
  }

  const std::string& file_;
  DumpSettings& settings_;
  std::set<std::string> seen_;
  Status status_;
};

// Returns the value of the last member with this key.
std::optional<JsonView> find_member(JsonView object, std::string_view wanted) {
  std::optional<JsonView> found;
  if (!object.is_object()) return found;
  object.for_each([&](const std::string& key, JsonView value) {
    if (key == wanted) found = value;
  });
  return found;
}

bool is_text(JsonView value, std::string_view wanted) {
  return value.is_string() && value.string() == wanted;
}

// Returns whether one of the switches is on. A word that is neither "on" nor "off" is an error, because a
// program would wait for its dumps in vain.
Result<bool> is_switched_on(JsonView dump, const std::string& file) {
  bool is_on = false;
  for (const char* const name : {"dump_op_switch", "dump_switch"}) {
    const std::optional<JsonView> value = find_member(dump, name);
    if (!value) continue;
    if (!is_text(*value, "on") && !is_text(*value, "off"))
      return refused(file, name, *value, "it must be \"on\" or \"off\"");
    is_on = is_on || is_text(*value, "on");
  }
  return is_on;
}

}  // namespace

Result<DumpSettings> read_dump_settings(std::string_view json, const std::string& file) {
  DumpSettings settings;
  const std::optional<JsonView> dump = find_member(JsonView(json), "dump");
  if (!dump) return settings;
  OPENACLNN_TRY_ASSIGN(is_on, is_switched_on(*dump, file));
  settings.is_on = is_on;
  if (!is_on) return settings;
  settings.outputs = true;
  Section section(file, settings);
  dump->for_each([&](const std::string& key, JsonView value) { section.read(key, value); });
  OPENACLNN_TRY(section.finish());
  return settings;
}

}  // namespace openaclnn
