// Finds the dumps below a folder, and reads each with the reader of its format.
#include "judge/dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "files/errors.h"
#include "judge/msprobe_dump.h"
#include "judge/own_dump.h"

namespace openaclnn_judge {

namespace fs = std::filesystem;
using openaclnn_files::BadInput;

namespace {

// step0/rank0 below the folder, and one level for MindSpore's graph/ and pynative/.
constexpr int kMostLevels = 4;

struct Format {
  bool (*is_dump)(const std::string& folder);
  void (*read)(const std::string& folder, const VisitCall& visit);
};
constexpr Format kFormats[] = {{is_own_dump, read_own_dump}, {is_msprobe_dump, read_msprobe_dump}};

// Returns the folders in a folder: step2 before step10.
std::vector<fs::path> folders_in(const std::string& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) folders.push_back(entry.path());
  }
  if (error) throw BadInput(fmt::format("{}: {}", folder, error.message()));
  std::ranges::sort(folders, {}, [](const fs::path& path) {
    const std::string name = path.filename();
    return std::pair(name.size(), name);
  });
  return folders;
}

// Returns the number of dumps. `prefix` starts the labels of their calls.
int visit_dumps(const std::string& folder, const std::string& prefix, int levels, const VisitCall& visit) {
  for (const Format& format : kFormats) {
    if (!format.is_dump(folder)) continue;
    format.read(folder, [&](DumpedCall dumped) {
      dumped.call.label.insert(0, prefix);
      visit(std::move(dumped));
    });
    return 1;
  }
  int dumps = 0;
  if (levels == 0) return dumps;
  for (const fs::path& inner : folders_in(folder))
    dumps += visit_dumps(inner, prefix + openaclnn_files::printable(inner.filename().string()) + "/",
                         levels - 1, visit);
  return dumps;
}

}  // namespace

void for_each_dumped_call(const std::string& folder, const VisitCall& visit) {
  if (visit_dumps(folder, "", kMostLevels, visit) == 0)
    throw BadInput(fmt::format("{}: neither this folder nor its subfolders have a dump", folder));
}

std::vector<DumpedCall> read_dump(const std::string& folder) {
  std::vector<DumpedCall> calls;
  for_each_dumped_call(folder, [&calls](DumpedCall call) { calls.push_back(std::move(call)); });
  return calls;
}

}  // namespace openaclnn_judge
