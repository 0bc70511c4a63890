// Finds the dumps below a folder, and reads each with the reader of its format.
#include "judge/dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "files/errors.h"
#include "files/folder.h"
#include "judge/kernel_dump.h"
#include "judge/msprobe_dump.h"
#include "judge/own_dump.h"

namespace openaclnn_judge {

namespace fs = std::filesystem;
using openaclnn_files::BadInput;
using openaclnn_files::entries_of;

namespace {

// Folders may be nested: ATB has one for each operation of an operation.
constexpr int kMostLevels = 12;
constexpr int kMostFolders = 100'000;

struct Format {
  bool (*is_dump)(const std::string& folder);
  void (*read)(const std::string& folder, const VisitCall& visit);
  bool has_inner;  // subfolders may have other dumps
};
constexpr Format kFormats[] = {{is_own_dump, read_own_dump, false},
                               {is_msprobe_dump, read_msprobe_dump, false},
                               {is_atb_dump, read_atb_dump, true},
                               {is_kernel_dump, read_kernel_dump, true}};

// Returns the folders in a folder, without links: step2 before step10.
std::vector<fs::path> folders_in(const std::string& folder) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code vanished;
    if (entry.is_directory(vanished) && !entry.is_symlink(vanished)) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, {}, [](const fs::path& path) {
    const std::string name = path.filename();
    return std::pair(name.size(), name);
  });
  return folders;
}

// Returns the part of a label for a folder. The PID of "proc123" is left out if this is the only process, so that
// calls of two dumps have the same labels.
std::string label_of(const std::string& name, size_t folders) {
  constexpr std::string_view kProcess = "proc";
  const bool has_pid = name.starts_with(kProcess) && name.size() > kProcess.size() &&
                       name.find_first_not_of("0123456789", kProcess.size()) == std::string::npos;
  return has_pid && folders == 1 ? std::string(kProcess) : openaclnn_files::printable(name);
}

class Search {
 public:
  explicit Search(const VisitCall& visit) : visit_(visit) {}

  // `prefix` starts the labels of the calls.
  void search(const std::string& folder, const std::string& prefix, int levels) {
    if (++folders_ > kMostFolders)
      throw BadInput(fmt::format("{}: more than {} folders were searched for dumps", folder, kMostFolders));
    const Format* const format =
        std::ranges::find_if(kFormats, [&](const Format& one) { return one.is_dump(folder); });
    if (format != std::end(kFormats)) {
      ++dumps_;
      format->read(folder, [&](DumpedCall dumped) {
        dumped.call.label.insert(0, prefix);
        visit_(std::move(dumped));
      });
      if (!format->has_inner) return;
    }
    if (levels == 0) return;
    const std::vector<fs::path> inner = folders_in(folder);
    for (const fs::path& path : inner)
      search(path, prefix + label_of(path.filename().string(), inner.size()) + "/", levels - 1);
  }
  int dumps() const { return dumps_; }

 private:
  const VisitCall& visit_;
  int folders_ = 0, dumps_ = 0;
};

}  // namespace

void for_each_dumped_call(const std::string& folder, const VisitCall& visit) {
  Search search(visit);
  search.search(folder, "", kMostLevels);
  if (search.dumps() == 0)
    throw BadInput(fmt::format("{}: neither this folder nor its subfolders have a dump", folder));
}

std::vector<DumpedCall> read_dump(const std::string& folder) {
  std::vector<DumpedCall> calls;
  for_each_dumped_call(folder, [&calls](DumpedCall call) { calls.push_back(std::move(call)); });
  return calls;
}

}  // namespace openaclnn_judge
