// Writes a temporary file in the target's folder, then renames or copies it.
#include "new_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "failures.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

// Resolves a chain of symbolic links. The target need not exist.
std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // the system's own limit
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(fs::symlink_status(at, error)); ++links)
    at = at.parent_path() / fs::read_symlink(at, error);  // an absolute link replaces the folder
  return at.string();
}

// Returns 0 or the error code.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

mode_t default_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// Gives the file the mode, owner and group of the old one; returns false if any of them would be lost.
bool make_like(int file, const struct stat& old, const std::string& path) {
  const bool has_owner = fchown(file, old.st_uid, old.st_gid) == 0;
  const bool has_mode = fchmod(file, old.st_mode & 07777) == 0;
  const bool has_list = getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
  return has_owner && has_mode && !has_list && old.st_nlink == 1;
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  const std::string first = behind_links(a), second = behind_links(b);
  struct stat one = {}, other = {};
  const bool exists = stat(first.c_str(), &one) == 0;
  if (exists && stat(second.c_str(), &other) == 0)
    return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  std::error_code error;
  const auto canonical = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  return !exists && canonical(first) == canonical(second);
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

NewFile::NewFile(const std::string& path)
    : path_(path), target_(behind_links(path)), file_(open_to_write()) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

int NewFile::open_to_write() {
  struct stat old = {};
  const bool exists = stat(target_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && !S_ISREG(old.st_mode)) {
    const int direct = open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (direct < 0) fail(errno);
    is_direct_ = true;
    return direct;
  }
  // A rename would replace a write-protected file.
  if (exists && access(target_.c_str(), W_OK) != 0) fail(errno);
  const int file = open_temporary();
  if (exists) {
    can_rename_ = make_like(file, old, target_);
  } else {
    (void)fchmod(file, default_mode());
  }
  return file;
}

// The system deletes a file without a name when the process ends, whatever ends it. Some file systems have no such
// files, and without /proc they can't be given a name.
int NewFile::open_temporary() {
  const fs::path folder = fs::path(target_).parent_path();
  if (access("/proc/self/fd", X_OK) == 0) {
    const int unnamed = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (unnamed >= 0) return unnamed;
  }
  std::string name = (folder / ".openaclnn-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) fail(errno);
  temporary_ = name;
  return named;
}

// A rename needs a name.
void NewFile::give_name() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", *file_);
  const fs::path folder = fs::path(target_).parent_path();
  for (int k = 0; temporary_.empty(); ++k) {
    const std::string name = (folder / fmt::format(".openaclnn-{}-{}", getpid(), k)).string();
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
    } else if (errno != EEXIST) {
      fail(errno);
    }
  }
}

void NewFile::append(std::string_view bytes) {
  if (const int error = write_all(*file_, bytes); error != 0) fail(error);
}

void NewFile::sync() const {
  if (!is_direct_ && fsync(*file_) != 0) fail(errno);
}

void NewFile::publish() {
  if (is_direct_) return;
  if (can_rename_) {
    give_name();
    if (rename(temporary_.c_str(), target_.c_str()) == 0) {
      temporary_.clear();
      return;
    }
  }
  overwrite();  // also if a file system is mounted on the file itself
}

void NewFile::overwrite() const {
  const File target(open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  const off_t bytes = lseek(*file_, 0, SEEK_END);
  if (*target < 0 || bytes < 0) fail(errno);
  // Detects a full disk before the old contents are overwritten.
  if (bytes > 0 && fallocate(*target, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 && errno != EOPNOTSUPP) fail(errno);
  std::array<char, size_t{64} << 10> piece;
  for (off_t at = 0; at < bytes;) {
    const ssize_t count = pread(*file_, piece.data(), piece.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count < 0 ? errno : EIO);
    if (const int error = write_all(*target, {piece.data(), static_cast<size_t>(count)}); error != 0)
      fail(error);
    at += count;
  }
  if (ftruncate(*target, bytes) != 0 || fsync(*target) != 0) fail(errno);
}

void NewFile::fail(int error) const {
  throw Failure(fmt::format("{} cannot be written: {}", path_, std::strerror(error)));
}

}  // namespace openaclnn_cli
