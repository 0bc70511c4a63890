// Finds libraries that CMake and make files link, as far as their text determines them.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct LinkedLibrary {
  std::string name;  // "ascendcl" of -lascendcl, libascendcl.so and target_link_libraries(… ascendcl)
  int line;
};

struct LinkLines {
  std::vector<LinkedLibrary> libraries;
  // Names that only a run of CMake or make can resolve: "${OpenCV_LIBS}", "Threads::Threads".
  std::vector<LinkedLibrary> unknown;
  std::set<std::string> own_targets;  // from add_library
};

enum class BuildFile { none, cmake, make };

// Determined by the file's name.
BuildFile build_file_kind(const std::string& path);

// Reads target_link_libraries, link_libraries, and -l flags of variables and options. Expands variables that
// the file sets.
LinkLines read_cmake_file(const std::string& text);

// Reads -l flags of variables such as LDLIBS and of lines that call a compiler. Expands variables and
// addprefix.
LinkLines read_make_file(const std::string& text);

}  // namespace openaclnn_cli
