// Reads the JSON files of dumps.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace openaclnn_judge {

inline constexpr int kMostDumpDepth = 64;
inline constexpr uint64_t kMostDumpJson = uint64_t{1} << 30;

// Returns true if an entry is needed; other entries take no memory. `depth`: 1 for those of the outermost object.
using KeepEntry = std::function<bool(int depth, const std::string& key)>;

// Accepts NaN, Infinity and -Infinity, as Python writes them; they become texts. Throws files::BadInput with an error message
// about the file for malformed or deeply nested JSON.
nlohmann::json parse_dump_json(std::string_view text, const KeepEntry& keep = nullptr);

// Reads a file. The error message starts with its path.
nlohmann::json read_dump_json(const std::string& path, const KeepEntry& keep = nullptr);

}  // namespace openaclnn_judge
