// The stored entries of a zip archive, also of zip64: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/source.h"

namespace openaclnn_files {

struct ZipEntry {
  std::string name;
  uint64_t begin = 0;  // of the elements in the file
  uint64_t bytes = 0;
};

inline constexpr uint64_t kMostZipDirectory = uint64_t{16} << 20;

// Returns the entries; all of them lie inside the file. Throws BadInput with an error message about the file,
// also for compressed or encrypted entries.
std::vector<ZipEntry> read_zip(const Source& file);

}  // namespace openaclnn_files
