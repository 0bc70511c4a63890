// `openaclnn compat-check`: missing parts that the sources of a program show.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace openaclnn_cli {

struct CompatCheckOptions {
  std::vector<std::string> files, folders, defines;
  std::string compiler, standard;  // empty: by the language of the file
  bool json = false;
};

// The kind of a missing name, and where it is used.
struct Missing {
  std::string kind;  // "header", "name", "looked up", "library", "error"
  std::set<std::pair<std::string, int>> places;
};
using Findings = std::map<std::string, Missing>;

// Returns the contents of a text file; throws BadInput for files that cannot be program sources.
std::string source_text(const std::string& file);

// Returns the words that start the compiler which the options or the environment select for a file, such as "ccache g++".
std::vector<std::string> compiler_of(const CompatCheckOptions& options, const std::string& file);

// Compiles the files, all of them sources, with the public headers. Adds missing headers, names that they and
// the headers don't declare, other errors, and functions that are looked up by name.
void check_programs(const CompatCheckOptions& sources, Findings& findings);

}  // namespace openaclnn_cli
