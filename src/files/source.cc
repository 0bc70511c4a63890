// Reads bytes from files and memory.
#include "files/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "files/errors.h"

namespace openaclnn_files {

std::string Source::head(uint64_t at, uint64_t most) const {
  std::string bytes(at < size() ? std::min(size() - at, most) : 0, '\0');
  read(at, bytes.data(), bytes.size());
  return bytes;
}

OpenFile::OpenFile(const std::string& path)
    // O_NONBLOCK: does not wait for a writer if the file is a pipe.
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status = {};
  std::string problem;
  if (file_ < 0 || fstat(file_, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "this isn't a regular file";
  }
  if (!problem.empty()) {
    if (file_ >= 0) close(file_);
    throw BadInput(problem);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

OpenFile::~OpenFile() { close(file_); }

void OpenFile::read(uint64_t at, void* to, uint64_t bytes) const {
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        pread(file_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw BadInput("the file cannot be read to its end");
    done += static_cast<uint64_t>(count);
  }
}

void Memory::read(uint64_t at, void* to, uint64_t bytes) const {
  if (bytes == 0) return;
  if (at > bytes_.size() || bytes > bytes_.size() - at) throw BadInput("the file cannot be read to its end");
  std::memcpy(to, bytes_.data() + at, bytes);
}

}  // namespace openaclnn_files
