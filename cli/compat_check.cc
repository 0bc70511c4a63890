// openaclnn compat-check: compiles a CANN program with our headers, reads the libraries that its CMake and
// make files link, and lists everything that is missing.
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compat_sources.h"
#include "link_lines.h"
#include "process.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

// Results of reading link lines, other than missing libraries.
struct Linked {
  std::map<std::string, Missing> in_cann_compat, unknown;
};

std::set<std::string> cann_compat_libraries() {
  std::istringstream names(OPENACLNN_STUB_LIBRARIES);
  return {std::istream_iterator<std::string>(names), {}};
}

// Returns whether the compiler finds -l<name> in the linker's default folders, such as pthread.
bool is_of_the_system(const CompatCheckOptions& options, const std::string& name) {
  for (const char* suffix : {".so", ".a"}) {
    const std::string file = "lib" + name + suffix;
    std::vector<std::string> command = compiler_of(options, "");
    command.push_back("-print-file-name=" + file);
    const Finished asked = run_program(command);
    if (asked.exit_code == 0 && asked.output != file && asked.output != file + "\n") return true;
  }
  return false;
}

// Checks the libraries of all link lines: those that cann-compat has, missing ones, and those that the text
// alone does not determine.
void check_libraries(const CompatCheckOptions& options, const std::map<std::string, std::string>& build_files,
                     Findings& findings, Linked& linked) {
  std::map<std::string, Missing> wanted;
  std::set<std::string> own_targets;
  for (const auto& [file, text] : build_files) {
    const LinkLines lines =
        build_file_kind(file) == BuildFile::cmake ? read_cmake_file(text) : read_make_file(text);
    own_targets.insert(lines.own_targets.begin(), lines.own_targets.end());
    for (const LinkedLibrary& library : lines.libraries)
      wanted[library.name].places.insert({file, library.line});
    for (const LinkedLibrary& library : lines.unknown)
      linked.unknown[library.name].places.insert({file, library.line});
  }
  const std::set<std::string> provided = cann_compat_libraries();
  for (auto& [name, library] : wanted) {
    if (provided.contains(name)) {
      linked.in_cann_compat[name] = library;
    } else if (!own_targets.contains(name) && name != "openaclnn" && !is_of_the_system(options, name)) {
      library.kind = "library";
      findings["lib" + name + ".so"] = library;
    }
  }
}

std::string places_text(const Missing& missing) {
  std::string text;
  for (const auto& [file, line] : missing.places)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", file, line);
  return text;
}

nlohmann::json as_json(const std::string& kind, const std::string& name, const Missing& missing) {
  nlohmann::json places = nlohmann::json::array();
  for (const auto& [file, line] : missing.places) places.push_back({{"file", file}, {"line", line}});
  return {{"kind", kind}, {"name", name}, {"places", places}};
}

void print_as_json(const Findings& findings, const Linked& linked) {
  nlohmann::json report = nlohmann::json::array();
  for (const auto& [name, missing] : findings) report.push_back(as_json(missing.kind, name, missing));
  for (const auto& [name, library] : linked.in_cann_compat)
    report.push_back(as_json("library in cann-compat", name, library));
  for (const auto& [word, library] : linked.unknown)
    report.push_back(as_json("library unknown", word, library));
  print_json(report);
}

void print_as_text(const Findings& findings, const Linked& linked) {
  if (!linked.in_cann_compat.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, library] : linked.in_cann_compat) names.push_back(name);
    fmt::print("in cann-compat: {}\n", fmt::join(names, ", "));
  }
  for (const auto& [word, library] : linked.unknown)
    fmt::print("not checked: {} ({}); only a build determines its value\n", printable(word),
               places_text(library));
  if (findings.empty()) {
    fmt::print("{}\n", toned(Tone::good, "nothing is missing"));
    return;
  }
  Table table({"kind", "missing", "used in"});
  for (const auto& [name, missing] : findings) table.add({missing.kind, name, places_text(missing)});
  table.print();
  for (const auto& [name, missing] : findings) {
    if (missing.kind != "header" || fs::path(name).filename().string().starts_with("acl")) continue;
    fmt::print("names that {} declares count as missing; pass the folder of this header with -I\n",
               printable(name));
  }
}

int check_sources(const CompatCheckOptions& options) {
  CompatCheckOptions sources = options;
  sources.files.clear();
  std::map<std::string, std::string> build_files;
  for (const std::string& file : options.files) {
    const std::string text = source_text(file);
    if (build_file_kind(file) == BuildFile::none) {
      sources.files.push_back(file);
    } else {
      build_files[file] = text;
    }
  }
  setenv("LC_ALL", "C.UTF-8", 1);  // diagnostics in English
  Findings findings;
  Linked linked;
  check_programs(sources, findings);
  check_libraries(options, build_files, findings, linked);
  if (options.json) {
    print_as_json(findings, linked);
  } else {
    print_as_text(findings, linked);
  }
  return findings.empty() ? kFine : kProblem;
}

}  // namespace

void add_compat_check(Program& program) {
  const auto options = std::make_shared<CompatCheckOptions>();
  CLI::App* const command =
      add_command(program, "compat-check",
                  "List the functions, headers and libraries that a CANN program needs and openaclnn lacks",
                  "Example: openaclnn compat-check CMakeLists.txt src/*.cpp -I src -D NDEBUG\n"
                  "Compiles the sources with -fsyntax-only. Prints missing headers, undeclared names,\n"
                  "functions that are looked up by name, and other errors with their lines. For CMake\n"
                  "and make files, prints which linked libraries cann-compat has and which are missing.\n"
                  "The exit code is 1 if something is missing. See docs/porting.md.",
                  [options] { return check_sources(*options); });
  command->add_option("FILE", options->files, "Source files, CMake files and make files")
      ->required()
      ->type_name("");
  command->add_option("-I", options->folders, "Search this folder for headers; may be repeated")
      ->type_name("FOLDER")
      ->expected(1)
      ->take_all();
  command->add_option("-D", options->defines, "Define this macro; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--compiler", options->compiler,
                   "The compiler; by default $CXX or c++, for .c files $CC or cc")
      ->type_name("PROGRAM");
  command
      ->add_option("--std", options->standard, "The language standard; by default c++17, for .c files gnu17")
      ->type_name("NAME");
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
