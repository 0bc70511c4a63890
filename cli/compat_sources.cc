// Compiles the sources of a CANN program and reads what the compiler misses.
#include "compat_sources.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "library.h"
#include "link_lines.h"
#include "process.h"
#include "program.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLineBytes = 4096;  // std::regex recurses once for each character

// A temporary folder for empty replacements of missing headers.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) throw Failure("TMPDIR doesn't name a folder for temporary files: " + error.message());
    std::string name = (parent / "openaclnn-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Failure(fmt::format("cannot create a folder in {}: {}", parent.string(), std::strerror(errno)));
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

bool is_c(const std::string& file) { return fs::path(file).extension() == ".c"; }

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
  const std::string standard = !options.standard.empty() ? options.standard : is_c(file) ? "gnu17" : "c++17";
  std::vector<std::string> words = compiler_of(options, file);
  for (const std::string& word : {std::string("-fsyntax-only"), "-std=" + standard,
                                  std::string("-fdiagnostics-color=never"), std::string("-w")})
    words.push_back(word);
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
    if (line.size() > kMostLineBytes) line.resize(kMostLineBytes);
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
  const InterruptionHold hold;
  const ScratchFolder stand_ins;
  constexpr int kMostHeaders = 100;
  for (int attempt = 0; attempt < kMostHeaders; ++attempt) {
    Findings found;
    const std::vector<std::string> command = command_line(options, file, stand_ins.path());
    const Finished compiler = run_program(command);
    if (compiler.exit_code == 127)
      throw Failure(fmt::format("cannot start the compiler {}; --compiler selects another one", command[0]));
    const std::vector<std::string> headers = read_diagnostics(compiler.errors, found);
    if (compiler.exit_code != 0 && found.empty())
      throw Failure(
          fmt::format("{} failed: {}", command[0], compiler.errors.substr(0, compiler.errors.find('\n'))));
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

// Calls visit(line, number) for the lines of a file, without comments and cut to kMostLineBytes.
template <class Visit>
void for_each_line(const std::string& file, const Visit& visit) {
  std::ifstream text(file);
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    line.resize(std::min({line.size(), line.find("//"), kMostLineBytes}));
    visit(line, ++number);
  }
}

// Compilers report an unknown name once per function. Finds the other lines of the user's own files that
// contain it.
void find_more_lines(const CompatCheckOptions& options, Findings& findings) {
  for (auto& [name, missing] : findings) {
    if (missing.kind != "name") continue;
    const std::regex word("\\b" + name + "\\b");
    for (const std::string& file : options.files) {
      if (std::ranges::none_of(missing.places, [&](const auto& place) { return place.first == file; }))
        continue;
      for_each_line(file, [&](const std::string& line, int number) {
        if (std::regex_search(line, word)) missing.places.insert({file, number});
      });
    }
  }
}

// A declaration with a missing type doesn't declare its variables either. They aren't missing themselves.
void drop_variables_of_missing_types(const CompatCheckOptions& options, Findings& findings) {
  std::set<std::string> variables;
  for (const auto& [type, of_type] : findings) {
    if (of_type.kind != "name" || type.find(':') != std::string::npos) continue;
    const std::regex declaration("\\b" + type + "\\b[\\s*&]+(?:const\\s+)?([A-Za-z_]\\w*)\\s*[=;,(){\\[]");
    for (const std::string& file : options.files) {
      for_each_line(file, [&](const std::string& line, int) {
        for (std::sregex_iterator at(line.begin(), line.end(), declaration), end; at != end; ++at)
          variables.insert((*at)[1]);
      });
    }
  }
  std::erase_if(findings, [&](const auto& found) {
    return found.second.kind == "name" && variables.contains(found.first);
  });
}

// Returns all identifiers of the public headers.
std::set<std::string> known_names() {
  static const std::regex kName("\\bacl[A-Za-z]\\w*");
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(header_folder())) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at)
      names.insert(at->str());
  }
  return names;
}

// Finds functions that a program looks up by name: texts such as "aclnnAddGetWorkspaceSize", and the
// arguments of macros such as EXEC_NPU_CMD(aclnnAdd, ...).
void find_looked_up(const std::string& file, const std::set<std::string>& known, Findings& findings) {
  static const std::regex kLookUp(
      "\"(acl(?:nn|rt|op|mdl)?[A-Z]\\w*)\"|\\b[A-Z_]*EXEC_NPU\\w*\\s*\\(\\s*(aclnn[A-Z]\\w*)");
  for_each_line(file, [&](const std::string& line, int number) {
    for (std::sregex_iterator at(line.begin(), line.end(), kLookUp), end; at != end; ++at) {
      const std::string name = (*at)[1].matched ? (*at)[1] : (*at)[2];
      if (known.contains(name)) continue;
      Missing& missing = findings[name];
      if (missing.kind.empty()) missing.kind = "looked up";
      missing.places.insert({file, number});
    }
  });
}

}  // namespace

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

std::vector<std::string> compiler_of(const CompatCheckOptions& options, const std::string& file) {
  const char* const own = std::getenv(is_c(file) ? "CC" : "CXX");
  const std::string given = !options.compiler.empty() ? options.compiler : own != nullptr ? own : "";
  if (is_program(given)) return {given};  // its path may contain blanks
  std::istringstream stream(given);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.empty()) words.emplace_back(is_c(file) ? "cc" : "c++");
  return words;
}

void check_programs(const CompatCheckOptions& sources, Findings& findings) {
  if (sources.files.empty()) return;
  for (const std::string& file : sources.files) compile(sources, file, findings);
  drop_variables_of_missing_types(sources, findings);
  find_more_lines(sources, findings);
  const std::set<std::string> known = known_names();
  for (const std::string& file : sources.files) find_looked_up(file, known, findings);
}

}  // namespace openaclnn_cli
