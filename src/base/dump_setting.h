// The two forms of OPENACLNN_DUMP, for the library and for `openaclnn doctor`.
#pragma once

#include <string>

namespace openaclnn {

struct DumpSetting {
  std::string folder;
  std::string names;  // of operators, with commas between them; empty: failed calls only
};

// The reason in call.json of a call that was saved because its operator is named.
inline constexpr char kSelectedReason[] = "selected";

// FOLDER, or FOLDER:NAME,NAME. A folder may contain colons if a slash follows.
inline DumpSetting split_dump_setting(const std::string& whole) {
  const size_t colon = whole.rfind(':');
  if (colon == std::string::npos || whole.find('/', colon) != std::string::npos) return {whole, ""};
  return {whole.substr(0, colon), whole.substr(colon + 1)};
}

}  // namespace openaclnn
