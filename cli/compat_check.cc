// openaclnn compat-check: compiles a CANN program with our headers, reads the libraries that its CMake and
// make files link, and lists everything that is missing.
#include <fmt/format.h>
#include <unistd.h>

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

#include "library.h"
#include "link_lines.h"
#include "process.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

struct CompatCheckOptions {
  std::vector<std::string> files, folders, defines;
  std::string compiler, standard = "c++17";
  bool json = false;
};

// The kind of a missing name, and where it is used.
struct Missing {
  std::string kind;  // "header", "name", "library", "error"
  std::set<std::pair<std::string, int>> places;
};
using Findings = std::map<std::string, Missing>;

// Results of reading link lines, other than missing libraries.
struct Linked {
  std::map<std::string, Missing> in_cann_compat, unknown;
};

// A temporary folder for empty replacements of missing headers.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "openaclnn-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Failure(fmt::format("cannot create a folder in {}: {}", fs::temp_directory_path().string(),
                                std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns the folder of the public headers: next to an installed program, or in the source tree of a build.
fs::path header_folder() {
  const fs::path program = program_folder();
  for (const fs::path& folder : {program / "../include/openaclnn", program / "../../../include"}) {
    std::error_code error;
    if (fs::exists(folder / "aclnn" / "acl_meta.h", error)) return fs::canonical(folder, error);
  }
  throw Failure("openaclnn's headers aren't installed; install the package libopenaclnn-dev");
}

std::vector<std::string> command_line(const CompatCheckOptions& options, const std::string& file,
                                      const fs::path& stand_ins) {
  const fs::path headers = header_folder();
  std::vector<std::string> words = {options.compiler, "-fsyntax-only", "-std=" + options.standard,
                                    "-fdiagnostics-color=never", "-w"};
  for (const fs::path& folder : {headers, headers / "aclnn", headers / "aclnnop"})
    words.push_back("-I" + folder.string());
  for (const std::string& folder : options.folders) words.push_back("-I" + folder);
  for (const std::string& define : options.defines) words.push_back("-D" + define);
  words.push_back("-I" + stand_ins.string());  // last: used only if no other folder has the header
  words.push_back(file);
  return words;
}

// Returns the quoted name in an "undeclared" message of g++ or clang++.
std::string name_in(const std::string& message) {
  static const std::regex kQuoted("[‘'`]+([A-Za-z_][A-Za-z_0-9:]*)(\\(.*\\))?[’']+");
  static const std::regex kUndeclared(
      "was not declared|does not name a type|has not been declared|undeclared identifier|unknown type name|"
      "no member named|is not a member|no type named|has no member named");
  std::smatch found;
  if (!std::regex_search(message, kUndeclared) || !std::regex_search(message, found, kQuoted)) return {};
  return found[1];
}

// Adds the compiler's diagnostics; returns the headers that it did not find.
std::vector<std::string> read_diagnostics(const std::string& text, Findings& findings) {
  static const std::regex kLine("^([^:\n]+):([0-9]{1,9}):(?:[0-9]+:)? (?:fatal )?error: (.*)$");
  static const std::regex kHeader("^'?([^':]+)'?(?:: No such file or directory| file not found)");
  std::vector<std::string> headers;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    // std::regex recurses once for each character.
    constexpr size_t kMostBytes = 4096;
    if (line.size() > kMostBytes) line.resize(kMostBytes);
    std::smatch found, header;
    if (!std::regex_match(line, found, kLine)) continue;
    const std::string file = found[1], message = found[3];
    const std::pair<std::string, int> place = {file, std::stoi(found[2])};
    if (std::regex_search(message, header, kHeader)) {
      headers.push_back(header[1]);
      findings[header[1]].kind = "header";
      findings[header[1]].places.insert(place);
      continue;
    }
    const std::string name = name_in(message);
    Missing& missing = findings[name.empty() ? message : name];
    missing.kind = name.empty() ? "error" : "name";
    missing.places.insert(place);
  }
  return headers;
}

// A missing header ends the compilation, so an empty file replaces it and the compilation is repeated.
void compile(const CompatCheckOptions& options, const std::string& file, Findings& findings) {
  const ScratchFolder stand_ins;
  constexpr int kMostHeaders = 100;
  for (int attempt = 0; attempt < kMostHeaders; ++attempt) {
    Findings found;
    const Finished compiler = run_program(command_line(options, file, stand_ins.path()));
    if (compiler.exit_code == 127)
      throw Failure(
          fmt::format("cannot start the compiler {}; --compiler selects another one", options.compiler));
    const std::vector<std::string> headers = read_diagnostics(compiler.errors, found);
    if (compiler.exit_code != 0 && found.empty())
      throw Failure(fmt::format("{} failed: {}", options.compiler,
                                compiler.errors.substr(0, compiler.errors.find('\n'))));
    for (const auto& [name, missing] : found) {
      if (!headers.empty() && missing.kind != "header") continue;  // the next run reports them again
      findings[name].kind = missing.kind;
      findings[name].places.insert(missing.places.begin(), missing.places.end());
    }
    if (headers.empty()) return;
    for (const std::string& header : headers) {
      const fs::path path = (stand_ins.path() / header).lexically_normal();
      if (!path.string().starts_with(stand_ins.path().string()))
        return;  // "../x.h": no file is written there
      std::error_code error;
      fs::create_directories(path.parent_path(), error);
      if (error) return;  // "x" and "x/b.h": one of them is already a file
      std::ofstream(path) << "// Stands in for a header that was not found.\n";
    }
  }
}

// Compilers report an unknown name once per function. Finds the other lines of the user's own files that
// contain it.
void find_more_lines(const CompatCheckOptions& options, Findings& findings) {
  for (auto& [name, missing] : findings) {
    if (missing.kind != "name") continue;
    const std::regex word("\\b" + name + "\\b");
    for (const std::string& file : options.files) {
      const bool is_used =
          std::ranges::any_of(missing.places, [&](const auto& place) { return place.first == file; });
      std::ifstream text(file);
      int number = 0;
      for (std::string line; is_used && std::getline(text, line);) {
        ++number;
        if (std::regex_search(line.substr(0, line.find("//")), word)) missing.places.insert({file, number});
      }
    }
  }
}

std::set<std::string> cann_compat_libraries() {
  std::istringstream names(OPENACLNN_STUB_LIBRARIES);
  return {std::istream_iterator<std::string>(names), {}};
}

// Returns whether the compiler finds -l<name> in the linker's default folders, such as pthread.
bool is_of_the_system(const CompatCheckOptions& options, const std::string& name) {
  for (const char* suffix : {".so", ".a"}) {
    const std::string file = "lib" + name + suffix;
    const Finished asked = run_program({options.compiler, "-print-file-name=" + file});
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

// Returns the contents of a text file; throws BadInput for files that cannot be program sources.
std::string source_text(const std::string& file) {
  static const std::set<std::string> kSources = {".c", ".cc", ".cpp", ".cxx", ".c++",
                                                 ".C", ".h",  ".hh",  ".hpp", ".hxx"};
  std::error_code error;
  if (access(file.c_str(), R_OK) != 0 || !fs::is_regular_file(file, error))
    throw BadInput(fmt::format("{} isn't a readable file", shown(file)));
  if (build_file_kind(file) == BuildFile::none && !kSources.contains(fs::path(file).extension().string())) {
    throw BadInput(
        fmt::format("{}: unrecognized file name; expected a file ending in {}, or CMakeLists.txt, *.cmake, "
                    "Makefile* or *.mk",
                    shown(file), fmt::join(kSources, " ")));
  }
  constexpr uintmax_t kMostBytes = 16 << 20;
  if (const uintmax_t bytes = fs::file_size(file, error); bytes > kMostBytes)
    throw BadInput(fmt::format("{} has {} bytes; at most {} are accepted", shown(file), bytes, kMostBytes));
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.find('\0') != std::string::npos)
    throw BadInput(fmt::format("{} contains binary data; expected a text file", shown(file)));
  return text;
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
  for (const std::string& file : sources.files) compile(sources, file, findings);
  find_more_lines(sources, findings);
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
  const char* const compiler = std::getenv("CXX");
  options->compiler = compiler != nullptr && *compiler != '\0' ? compiler : "c++";
  CLI::App* const command =
      add_command(program, "compat-check",
                  "List the functions, headers and libraries that a CANN program needs and openaclnn lacks",
                  "Example: openaclnn compat-check CMakeLists.txt src/*.cpp -I src -D NDEBUG\n"
                  "Compiles the sources with -fsyntax-only. Prints missing headers, undeclared names\n"
                  "and other errors with their lines. For CMake and make files, prints which linked\n"
                  "libraries cann-compat has and which are missing.\n"
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
  command->add_option("--compiler", options->compiler, "The C++ compiler")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--std", options->standard, "The language standard")
      ->type_name("NAME")
      ->capture_default_str();
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
