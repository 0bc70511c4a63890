// POSIX file calls, because std::ofstream cannot say why a write failed.
#include "output_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "errors.h"

namespace train {
namespace fs = std::filesystem;
namespace {

// Writes a new file; 0 or errno. Leaves nothing behind when it fails.
int write_new_file(const fs::path& path, std::string_view contents) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int error = 0;
  while (!contents.empty() && error == 0) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written >= 0)
      contents.remove_prefix(static_cast<size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && fsync(file) != 0 && errno != EINVAL)
    error = errno;  // EINVAL: a file system without fsync
  if (close(file) != 0 && error == 0) error = errno;
  if (error != 0) unlink(path.c_str());
  return error;
}

fs::path temporary(const fs::path& folder, const std::string& name) {
  return folder / fmt::format(".{}.{}.tmp", name, getpid());
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  if (path.empty()) throw InputError("the output folder's name is empty");
  std::string reason;
  std::vector<fs::path> made;  // outermost first
  fs::path folder;
  for (auto part = path_.begin(); part != path_.end() && reason.empty(); ++part) {
    folder /= *part;
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (fs::is_directory(status)) continue;
    if (fs::exists(status))
      reason = fmt::format("'{}' is not a directory", folder.string());
    else if (fs::create_directory(folder, error))
      made.push_back(folder);
    else
      reason = error ? error.message() : "it cannot be made";
  }
  if (reason.empty()) {
    const fs::path probe = temporary(path_, "probe");
    if (const int error = write_new_file(probe, ""))
      reason = std::strerror(error);
    else
      unlink(probe.c_str());
  }
  for (auto last = made.rbegin(); last != made.rend(); ++last) rmdir(last->c_str());
  if (!reason.empty())
    throw InputError(fmt::format("the output folder '{}' cannot be used: {}", path, reason));
}

void OutputFolder::write(const std::string& name, std::string_view contents) const {
  const fs::path target = path_ / name, beside = temporary(path_, name);
  std::error_code ignored;  // a folder that is still missing makes the next call fail with the reason
  fs::create_directories(path_, ignored);
  int error = write_new_file(beside, contents);
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) {
    error = errno;
    unlink(beside.c_str());
  }
  if (error != 0)
    throw RunError(fmt::format("'{}' cannot be written: {}", target.string(), std::strerror(error)));
}

}  // namespace train
