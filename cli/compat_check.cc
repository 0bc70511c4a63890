// openaclnn compat-check: compiles a program that was written for CANN against our headers, and lists what is missing.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "library.h"
#include "process.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> files, folders, defines;
  std::string compiler, standard = "c++17";
  bool json = false;
};

// What one name is missing as, and where it is used.
struct Missing {
  std::string kind;  // "header", "name", "error"
  std::set<std::pair<std::string, int>> places;
};
using Findings = std::map<std::string, Missing>;

// A folder for stand-ins of missing headers, which goes with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "openaclnn-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Failure("no temporary folder can be made");
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

// The public headers: beside an installed program, or in the source tree that a built one belongs to.
fs::path header_folder() {
  const fs::path program = program_folder();
  for (const fs::path& folder : {program / "../include/openaclnn", program / "../../../include"}) {
    std::error_code error;
    if (fs::exists(folder / "aclnn" / "acl_meta.h", error)) return fs::canonical(folder, error);
  }
  throw Failure("the headers of openaclnn are not installed; install the package libopenaclnn-dev");
}

std::vector<std::string> command_line(const Options& options, const std::string& file,
                                      const fs::path& stand_ins) {
  const fs::path headers = header_folder();
  std::vector<std::string> words = {options.compiler, "-fsyntax-only", "-std=" + options.standard,
                                    "-fdiagnostics-color=never", "-w"};
  for (const fs::path& folder : {headers, headers / "aclnn", headers / "aclnnop"})
    words.push_back("-I" + folder.string());
  for (const std::string& folder : options.folders) words.push_back("-I" + folder);
  for (const std::string& define : options.defines) words.push_back("-D" + define);
  words.push_back("-I" + stand_ins.string());  // last: only what nobody else has
  words.push_back(file);
  return words;
}

// "undeclared" in the words of g++ and clang++, with the name in their quotes.
std::string name_in(const std::string& message) {
  static const std::regex kQuoted("[‘'`]+([A-Za-z_][A-Za-z_0-9:]*)(\\(.*\\))?[’']+");
  static const std::regex kUndeclared(
      "was not declared|does not name a type|has not been declared|undeclared identifier|unknown type name|"
      "no member named|is not a member|no type named|has no member named");
  std::smatch found;
  if (!std::regex_search(message, kUndeclared) || !std::regex_search(message, found, kQuoted)) return {};
  return found[1];
}

// Adds what the compiler says; returns the headers that it did not find.
std::vector<std::string> read_diagnostics(const std::string& text, Findings& findings) {
  static const std::regex kLine("^([^:\n]+):([0-9]+):(?:[0-9]+:)? (?:fatal )?error: (.*)$");
  static const std::regex kHeader("^'?([^':]+)'?(?:: No such file or directory| file not found)");
  std::vector<std::string> headers;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
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

// A missing header ends the compilation, so an empty one takes its place and the compiler is asked again.
void compile(const Options& options, const std::string& file, Findings& findings) {
  const ScratchFolder stand_ins;
  constexpr int kMostHeaders = 100;
  for (int attempt = 0; attempt < kMostHeaders; ++attempt) {
    Findings found;
    const Finished compiler = run_program(command_line(options, file, stand_ins.path()));
    if (compiler.exit_code == 127)
      throw Failure(
          fmt::format("the compiler {} cannot be started; --compiler names another one", options.compiler));
    const std::vector<std::string> headers = read_diagnostics(compiler.errors, found);
    if (compiler.exit_code != 0 && found.empty())
      throw Failure(fmt::format("{} failed: {}", options.compiler,
                                compiler.errors.substr(0, compiler.errors.find('\n'))));
    for (const auto& [name, missing] : found) {
      if (!headers.empty() && missing.kind != "header") continue;  // they will be said again
      findings[name].kind = missing.kind;
      findings[name].places.insert(missing.places.begin(), missing.places.end());
    }
    if (headers.empty()) return;
    for (const std::string& header : headers) {
      const fs::path path = (stand_ins.path() / header).lexically_normal();
      if (!path.string().starts_with(stand_ins.path().string()))
        return;  // "../x.h": nothing is written there
      fs::create_directories(path.parent_path());
      std::ofstream(path) << "// Stands in for a header that was not found.\n";
    }
  }
}

// Compilers name an unknown word once in each function: the other lines of the user's own files that have it.
void find_more_lines(const Options& options, Findings& findings) {
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

std::string places_text(const Missing& missing) {
  std::string text;
  for (const auto& [file, line] : missing.places)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", file, line);
  return text;
}

int check(const Options& options) {
  for (const std::string& file : options.files) {
    if (access(file.c_str(), R_OK) != 0 || !fs::is_regular_file(file))
      throw BadInput(fmt::format("{}: it is no file that can be read", file));
  }
  setenv("LC_ALL", "C.UTF-8", 1);  // diagnostics in English
  Findings findings;
  for (const std::string& file : options.files) compile(options, file, findings);
  find_more_lines(options, findings);
  if (options.json) {
    nlohmann::json report = nlohmann::json::array();
    for (const auto& [name, missing] : findings) {
      nlohmann::json places = nlohmann::json::array();
      for (const auto& [file, line] : missing.places) places.push_back({{"file", file}, {"line", line}});
      report.push_back({{"kind", missing.kind}, {"name", name}, {"places", places}});
    }
    fmt::print("{}\n", report.dump(2));
  } else if (findings.empty()) {
    fmt::print("{}\n", toned(Tone::good, "nothing is missing"));
  } else {
    Table table({"missing", "what", "where"});
    for (const auto& [name, missing] : findings) table.add({missing.kind, name, places_text(missing)});
    table.print();
  }
  return findings.empty() ? kFine : kProblem;
}

}  // namespace

void add_compat_check(Program& program) {
  const auto options = std::make_shared<Options>();
  const char* const compiler = std::getenv("CXX");
  options->compiler = compiler != nullptr && *compiler != '\0' ? compiler : "c++";
  CLI::App* const command = add_command(
      program, "compat-check", "Compile a program for CANN against our headers and list what is missing",
      "Example: openaclnn compat-check src/*.cpp -I src -D NDEBUG\n"
      "Headers that are not found, names that are not declared, and other errors, each with its lines. "
      "Nothing is\n"
      "generated. Exit code 1 when something is missing; docs/porting.md helps on.",
      [options] { return check(*options); });
  command->add_option("FILE", options->files, "Source files")->required()->type_name("");
  command->add_option("-I", options->folders, "A folder with more headers; may be repeated")
      ->type_name("FOLDER")
      ->expected(1)
      ->take_all();
  command->add_option("-D", options->defines, "A macro; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command->add_option("--compiler", options->compiler, "The compiler")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--std", options->standard, "The language")->type_name("NAME")->capture_default_str();
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
