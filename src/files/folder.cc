// Reads the entries of folders.
#include "files/folder.h"

#include <fmt/core.h>

#include <system_error>

#include "files/errors.h"

namespace openaclnn_files {

std::vector<std::filesystem::directory_entry> entries_of(const std::string& folder) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(*at);
  if (error) throw BadInput(fmt::format("{}: {}", folder, error.message()));
  return entries;
}

}  // namespace openaclnn_files
