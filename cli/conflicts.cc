// Finds problems in the environment, on the library path and in Python.
#include "conflicts.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/dump_setting.h"
#include "base/nearest.h"
#include "process.h"
#include "program.h"
#include "rooms.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

// File names under which CANN programs look for the interface.
constexpr const char* kCannNames[] = {"libascendcl.so", "libacl_rt.so", "libnnopbase.so", "libopapi.so"};

std::vector<fs::path> library_folders() {
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  std::vector<fs::path> folders;
  std::string rest = path != nullptr ? path : "";
  for (size_t colon = 0; !rest.empty(); rest.erase(0, colon == std::string::npos ? colon : colon + 1)) {
    colon = rest.find(':');
    if (const std::string folder = rest.substr(0, colon); !folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

// Our replacements are small files that refer to our library.
bool is_stand_in(const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) > (1u << 20) || error) return false;
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return bytes.find("libopenaclnn.so") != std::string::npos;
}

void find_cann(const fs::path& folder, std::vector<Problem>& problems) {
  for (const char* name : kCannNames) {
    std::error_code error;
    if (!fs::exists(folder / name, error) || is_stand_in(folder / name)) continue;
    problems.push_back(
        {fmt::format("{} in LD_LIBRARY_PATH is a library of CANN: programs load it instead of openaclnn",
                     (folder / name).string()),
         "remove its folder from LD_LIBRARY_PATH, or source openaclnn's cann-compat/set_env.sh, which puts "
         "cann-compat/lib64 before it"});
    return;  // other files of the folder are the same problem
  }
}

// Names after OPENACLNN_DUMP=FOLDER: that no operator has. The library ignores them.
void find_dump_problems(std::vector<Problem>& problems) {
  const char* const value = std::getenv("OPENACLNN_DUMP");
  std::istringstream names(openaclnn::split_dump_setting(value != nullptr ? value : "").names);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "all") continue;
    try {
      (void)find_room(name);
    } catch (const BadInput& error) {
      problems.push_back(
          {fmt::format("OPENACLNN_DUMP selects '{}', but no call has this name", shown(name)), error.what()});
    }
  }
}

}  // namespace

void find_setting_problems(const nlohmann::json& known, std::vector<Problem>& problems) {
  constexpr std::string_view kPrefix = "OPENACLNN_";
  std::vector<std::string_view> settings;  // their names without the prefix
  for (const nlohmann::json& setting : known) {
    const std::string_view name = setting["name"].get_ref<const std::string&>();
    settings.push_back(name.substr(kPrefix.size()));
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with(kPrefix)) continue;
    const std::string word = name.substr(kPrefix.size());
    if (std::ranges::find(settings, word) != settings.end()) continue;
    const std::string_view nearest = openaclnn::nearest_word(word, settings);
    problems.push_back(
        {fmt::format("unrecognized variable {}", name),
         nearest.empty() ? "unset it" : fmt::format("unset it; did you mean {}{}?", kPrefix, nearest)});
  }
  for (const nlohmann::json& setting : known) {
    if (setting["understood"].get<bool>()) continue;
    problems.push_back({fmt::format("{} is '{}', which isn't accepted; openaclnn uses {}",
                                    setting["name"].get<std::string>(), setting["given"].get<std::string>(),
                                    setting["inForce"].get<std::string>()),
                        fmt::format("unset it; accepted: {}", setting["accepted"].get<std::string>())});
  }
  find_dump_problems(problems);
}

void find_library_problems(const std::string& library, std::vector<Problem>& problems) {
  for (const fs::path& folder : library_folders()) {
    find_cann(folder, problems);
    const fs::path copy = folder / "libopenaclnn.so.1";
    std::error_code error;
    if (fs::exists(copy, error) && !fs::equivalent(copy, library, error)) {
      problems.push_back(
          {fmt::format("LD_LIBRARY_PATH contains {}, but this program uses {}", copy.string(), library),
           "remove one of the two folders from LD_LIBRARY_PATH"});
    }
  }
  const char* const home = std::getenv("ASCEND_HOME_PATH");
  if (home == nullptr || *home == '\0') return;
  const fs::path runtime = fs::path(home) / "lib64" / "libascendcl.so";
  std::error_code error;
  if (!fs::exists(runtime, error)) {
    problems.push_back(
        {fmt::format("ASCEND_HOME_PATH is {}, which doesn't contain lib64/libascendcl.so", home),
         "unset it, or source set_env.sh of openaclnn's cann-compat"});
  } else if (!is_stand_in(runtime)) {
    problems.push_back({fmt::format("ASCEND_HOME_PATH is {}: programs are built with CANN's libraries", home),
                        "source set_env.sh of openaclnn's cann-compat to build them with openaclnn"});
  }
}

nlohmann::json python_facts() {
  constexpr char kScript[] =
      "import sys, json, importlib.metadata as m\n"
      "facts = {'python': sys.version.split()[0]}\n"
      "for name in ('openaclnn', 'numpy', 'ml_dtypes', 'torch', 'jax', 'matplotlib'):\n"
      "    try: facts[name] = m.version(name)\n"
      "    except m.PackageNotFoundError: facts[name] = 'not installed'\n"
      "print(json.dumps(facts))\n";
  Finished python;
  try {
    python = run_program({"python3", "-c", kScript}, {std::chrono::seconds(10), size_t{1} << 16});
  } catch (const Failure& failure) {
    return {{"python", failure.what()}};
  }
  if (python.exit_code == 128 + SIGKILL)
    return {{"python", "python3 was ended, because it took more than 10 s or printed more than 64 KiB"}};
  const nlohmann::json facts = nlohmann::json::parse(python.output, nullptr, false);
  if (python.exit_code != 0 || !facts.is_object()) return {{"python", "not installed"}};
  return facts;
}

}  // namespace openaclnn_cli
