// Implements the writers of dumps.
#include "runtime/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/elements.h"
#include "base/npy_header.h"
#include "base/quiet_signals.h"
#include "base/safe_open.h"
#include "base/text.h"

namespace openaclnn {

FileWriter::FileWriter(const std::string& path)
    : file_(open_above_standard(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666)) {
  if (file_ < 0) error_ = errno;
}

FileWriter::~FileWriter() {
  if (file_ >= 0) close(file_);
}

bool FileWriter::append(const void* memory, size_t bytes) {
  char* const begin = static_cast<char*>(const_cast<void*>(memory));
  if (count_ > 0) {
    iovec& last = pieces_[count_ - 1];
    if (static_cast<char*>(last.iov_base) + last.iov_len == begin) {
      last.iov_len += bytes;
      return error_ == 0;
    }
  }
  if (count_ == pieces_.size()) flush();
  pieces_[count_++] = {begin, bytes};
  return error_ == 0;
}

std::string FileWriter::finish() {
  flush();
  if (error_ == 0) return {};
  return error_ == EFAULT ? "the memory cannot be read" : std::strerror(error_);
}

void FileWriter::flush() {
  const QuietSignals quiet;
  iovec* next = pieces_.data();
  size_t left = count_;
  count_ = 0;
  while (left > 0 && error_ == 0) {
    const ssize_t written = writev(file_, next, static_cast<int>(left));
    if (written < 0) {
      if (errno != EINTR) error_ = errno;
      continue;
    }
    size_t bytes = static_cast<size_t>(written);
    while (left > 0 && bytes >= next->iov_len) {
      bytes -= next->iov_len;
      ++next;
      --left;
    }
    if (left > 0) {
      next->iov_base = static_cast<char*>(next->iov_base) + bytes;
      next->iov_len -= bytes;
    }
  }
}

std::string too_expanded(const TensorView& view) {
  const ByteRange range = byte_range(view);
  const int64_t bytes = view.numel() * view.element_bytes();
  if (bytes <= kMostExpandedBytes || bytes <= range.end - range.begin) return {};
  return text("its strides repeat elements, which would take ", bytes, " bytes; at most ", kMostExpandedBytes,
              " bytes of such a tensor are saved");
}

std::string write_npy(const TensorView& view, const std::string& path) {
  if (std::string why = too_expanded(view); !why.empty()) return why;
  const std::string header = npy_header(view.dtype, view.shape());
  if (header.empty()) return "NumPy has no such dtype";
  FileWriter out(path);
  out.append(header.data(), header.size());
  if (view.is_empty()) return out.finish();
  // The last dims are mostly without gaps: each of their blocks is appended as a whole.
  TensorView blocks = view;
  int64_t elements = 1;
  while (blocks.rank > 0 &&
         (blocks.dims[blocks.rank - 1] == 1 || blocks.strides[blocks.rank - 1] == elements))
    elements *= blocks.dims[--blocks.rank];
  const auto bytes = static_cast<size_t>(elements * view.element_bytes());
  for_each_element(blocks, [&](const std::byte* block) { return out.append(block, bytes); });
  return out.finish();
}

int make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return errno;
    if (slash == std::string::npos) break;
  }
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return errno;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

std::string write_whole(const std::string& path,
                        const std::function<std::string(const std::string& temporary)>& write) {
  const std::string temporary = path + ".tmp";
  std::string why;
  try {
    why = write(temporary);
    if (why.empty() && rename(temporary.c_str(), path.c_str()) != 0) why = std::strerror(errno);
  } catch (const std::bad_alloc&) {
    (void)unlink(temporary.c_str());
    throw;
  }
  if (!why.empty()) (void)unlink(temporary.c_str());
  return why;
}

}  // namespace openaclnn
