// Libraries that CMake and make files link, as far as a reader of the text alone can tell.
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
  // What only a run of CMake or make can tell: "${OpenCV_LIBS}", "Threads::Threads".
  std::vector<LinkedLibrary> unknown;
  std::set<std::string> own_targets;  // of add_library
};

enum class BuildFile { none, cmake, make };

// By the file's name.
BuildFile build_file_kind(const std::string& path);

// target_link_libraries, link_libraries, and -l flags of variables and options. Variables that the file itself sets are replaced.
LinkLines read_cmake_file(const std::string& text);

// -l flags of variables such as LDLIBS and of lines that call a compiler. Variables and addprefix are replaced.
LinkLines read_make_file(const std::string& text);

}  // namespace openaclnn_cli
