// Lists the entries of folders, for readers of dumps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace openaclnn_files {

// Returns the entries of a folder in no particular order. Throws BadInput if the folder cannot be read.
std::vector<std::filesystem::directory_entry> entries_of(const std::string& folder);

}  // namespace openaclnn_files
