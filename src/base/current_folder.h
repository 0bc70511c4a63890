// Paths that a later chdir() of the program doesn't change.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"

namespace openaclnn {

// Returns the path from the root that means the same as `path` now; nullopt if `path` is relative and there is
// no current folder.
inline std::optional<std::string> path_from_root(const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::unique_ptr<char, void (*)(void*)> current(getcwd(nullptr, 0), std::free);
  if (current == nullptr) return std::nullopt;
  return text(current.get(), "/", path);
}

}  // namespace openaclnn
