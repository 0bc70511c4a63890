// The hashes that the cases of all rooms must give, read from the files in the rooms.
#pragma once

#include <filesystem>
#include <fstream>
#include <istream>
#include <map>
#include <string>

namespace openaclnn_test {

// Calls add(hash, name of the case) for each line that is neither a comment nor empty.
template <class Add>
void for_each_hash(std::istream& in, const Add& add) {
  for (std::string line; std::getline(in, line);) {
    const size_t blank = line.find(' ');
    if (!line.starts_with('#') && blank != std::string::npos)
      add(line.substr(0, blank), line.substr(blank + 1));
  }
}

// Returns the hashes by the names of their cases, from all files of this name in the folders `verify` of the rooms below `ops_folder`.
inline std::map<std::string, std::string> golden_hashes(const std::filesystem::path& ops_folder,
                                                        const std::string& file_name) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ops_folder)) {
    if (entry.path().filename() != file_name || entry.path().parent_path().filename() != "verify") continue;
    std::ifstream file(entry.path());
    for_each_hash(file, [&](const std::string& hash, const std::string& name) { hashes[name] = hash; });
  }
  return hashes;
}

}  // namespace openaclnn_test
