// Creates the folders of acl.json's dumps, and extends their dump.json.
#include "runtime/dump_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "acl/acl_base.h"
#include "base/cancellation.h"
#include "base/env.h"
#include "base/function_name.h"
#include "base/json.h"
#include "base/quiet_signals.h"
#include "base/safe_open.h"
#include "base/text.h"
#include "runtime/file_writer.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

constexpr int kMostSteps = 100000;
constexpr std::string_view kEnd = "}}\n";  // of dump.json, after the entries

// Created while the library loads and never destroyed: tasks may still run at exit.
struct Current {
  ForkSafeMutex mutex{LockRank::dumps};  // also guards the progress of every folder
  std::shared_ptr<DumpFolder> folder;
};
Current* const current_dump = new Current;

Status cannot_write(const std::string& path, int error) {
  return {ACL_ERROR_WRITE_FILE, text("'", path, "' cannot be written: ", std::strerror(error))};
}

// Writes all bytes at the offset. Returns 0 or errno.
int write_at(int file, std::string_view bytes, off_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return 0;
}

}  // namespace

struct DumpFolder::Progress {
  pid_t owner = 0;     // a forked child starts anew
  std::string folder;  // empty: not created yet
  off_t end = 0;       // where the next entry goes in dump.json, over kEnd
  bool is_empty = true;
  std::map<std::string, uint64_t> calls;  // of each API
  bool has_logged = false;
};

std::string DumpPlace::tensor_path(const std::string& file) const {
  return text(folder, "/dump_tensor_data/", file);
}

DumpFolder::DumpFolder(DumpSettings settings)
    : settings_(std::move(settings)), progress_(std::make_unique<Progress>()) {}
DumpFolder::~DumpFolder() = default;

std::shared_ptr<DumpFolder> DumpFolder::current() {
  const std::lock_guard lock(current_dump->mutex);
  return current_dump->folder;
}

Status DumpFolder::open(DumpSettings settings, const std::string& file) {
  if (!settings.is_on) return {};
  const CancellationHold no_cancellation;
  int error = make_folders(settings.path);
  if (error == 0 && access(settings.path.c_str(), W_OK | X_OK) != 0) error = errno;
  if (error != 0) {
    return {
        ACL_ERROR_INVALID_DUMP_CONFIG,
        text("configPath '", file, "': dump.dump_path is '", settings.path,
             "'; it must be a folder that this process can create or write to (", std::strerror(error), ")")};
  }
  auto made = std::make_shared<DumpFolder>(std::move(settings));
  const std::lock_guard lock(current_dump->mutex);
  current_dump->folder = std::move(made);
  return {};
}

void DumpFolder::close() {
  std::shared_ptr<DumpFolder> closed;  // destroyed after the lock is released
  const std::lock_guard lock(current_dump->mutex);
  closed.swap(current_dump->folder);
}

bool DumpFolder::selects(const std::string& type, const std::string& name) const {
  const auto is_meant = [&](const std::string& listed) {
    return without_aclnn(listed) == without_aclnn(type) || without_aclnn(listed) == without_aclnn(name);
  };
  return settings_.names.empty() || std::ranges::any_of(settings_.names, is_meant);
}

// Creates the contents of a new folder: dump.json without entries, and a folder for tensors.
Status DumpFolder::fill(const std::string& folder, Progress& progress) {
  const std::string data = folder + "/dump_tensor_data", path = folder + "/dump.json";
  if (mkdir(data.c_str(), 0777) != 0) return cannot_write(data, errno);
  Json json;
  json.open('{').field("task", "tensor").field("level", "L1").field("framework", "pytorch");
  json.field("dump_data_dir", data).key("data").open('{');
  const std::string head = json.text();
  const std::string why = write_whole(path, [&](const std::string& temporary) {
    FileWriter file(temporary);
    file.append(head.data(), head.size());
    file.append(kEnd.data(), kEnd.size());
    return file.finish();
  });
  if (!why.empty()) {
    (void)rmdir(data.c_str());
    return {ACL_ERROR_WRITE_FILE, text("'", path, "' cannot be written: ", why)};
  }
  progress.folder = folder;
  progress.end = static_cast<off_t>(head.size());
  return {};
}

Status DumpFolder::create(Progress& progress) const {
  std::string folder;
  for (int step = 0; folder.empty(); ++step) {
    const std::string parent = text(settings_.path, "/step", step);
    if (mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST) return cannot_write(parent, errno);
    const std::string candidate = text(parent, "/proc", getpid());
    if (mkdir(candidate.c_str(), 0777) == 0) {
      folder = candidate;
    } else if (errno != EEXIST || step == kMostSteps) {
      return cannot_write(candidate, errno);
    }
  }
  Status status = fill(folder, progress);
  if (!status.ok()) (void)rmdir(folder.c_str());
  return status;
}

Result<DumpPlace> DumpFolder::add_call(const std::string& api) {
  const CancellationHold no_cancellation;
  const QuietSignals quiet;
  const std::lock_guard lock(current_dump->mutex);
  Progress& progress = *progress_;
  if (progress.owner != getpid()) {
    progress = Progress();
    progress.owner = getpid();
  }
  if (progress.folder.empty()) OPENACLNN_TRY(create(progress));
  return DumpPlace{progress.folder, text(api, ".", progress.calls[api]++, ".forward")};
}

// One write replaces the end by the entry and a new end, so a program that ends at any moment leaves valid JSON.
// Rewriting the file for each call would take time that grows with the square of their number.
Status DumpFolder::write_entry(const DumpPlace& place, const std::string& entry) {
  const CancellationHold no_cancellation;
  const QuietSignals quiet;
  const std::lock_guard lock(current_dump->mutex);
  Progress& progress = *progress_;
  const std::string path = place.folder + "/dump.json";
  Json key;
  key.value(place.key);
  const std::string added = text(progress.is_empty ? "\n" : ",\n", key.text(), ":", entry, kEnd);
  const int file = open_above_standard(path.c_str(), O_RDWR);
  if (file < 0) return cannot_write(path, errno);
  const auto end = progress.end + static_cast<off_t>(kEnd.size());
  struct stat info = {};
  const bool is_ours = fstat(file, &info) == 0 && info.st_size == end;
  const int error = is_ours ? write_at(file, added, progress.end) : 0;
  // The old end has its space on the disk, so this works on a full one.
  const bool is_valid = error == 0 || (write_at(file, kEnd, progress.end) == 0 && ftruncate(file, end) == 0);
  ::close(file);
  if (!is_ours)
    return {ACL_ERROR_WRITE_FILE, text("'", path, "' cannot be extended: another program changed it")};
  if (!is_valid) log_message(LogLevel::error, text("'", path, "' has lost its end: add two closing braces"));
  if (error != 0) return cannot_write(path, error);
  progress.end += static_cast<off_t>(added.size() - kEnd.size());
  progress.is_empty = false;
  return {};
}

void DumpFolder::log_once(const std::string& failure) {
  {
    const std::lock_guard lock(current_dump->mutex);
    if (std::exchange(progress_->has_logged, true)) return;
  }
  log_message(LogLevel::error, text("the dump of acl.json is incomplete: ", failure));
}

}  // namespace openaclnn
