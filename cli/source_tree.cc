// Finds the source tree.
#include "source_tree.h"

#include <fmt/core.h>

#include <filesystem>

#include "library.h"
#include "program.h"

namespace openaclnn_cli {

namespace fs = std::filesystem;

std::string source_tree() {
  std::error_code error;
  for (fs::path folder : {fs::path(program_folder()), fs::current_path(error)}) {
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
      if (fs::exists(folder / "dev", error) && fs::exists(folder / "bench" / "bench.py", error))
        return folder.string();
    }
  }
  return {};
}

std::string required_source_tree(const char* command) {
  const std::string tree = source_tree();
  if (!tree.empty()) return tree;
  throw Failure(
      fmt::format("`openaclnn {}` requires the source tree; run it in a clone of the project", command));
}

}  // namespace openaclnn_cli
