// Writes files of dumps.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "base/tensor_view.h"

namespace openaclnn {

// A new file to which blocks of memory are appended. It writes with writev(), which reports memory that cannot
// be read as an error instead of crashing. Callers hold a CancellationHold.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // The memory is read later, at the latest in finish(). Returns false if writing has failed, so that the caller may
  // stop.
  bool append(const void* memory, size_t bytes);
  // Returns why the file is incomplete, or an empty string.
  std::string finish();

 private:
  void flush();

  int file_;
  int error_ = 0;
  std::array<iovec, 256> pieces_;  // far fewer than the limit of any system
  size_t count_ = 0;
};

// Strides of 0 make tensors of any size from a few bytes. Larger ones than this are not saved.
inline constexpr int64_t kMostExpandedBytes = int64_t{256} << 20;
// Returns why the elements of a view are not saved, or an empty string. Requires a successful check_extent().
std::string too_expanded(const TensorView& view);

// Writes a .npy file with the elements in row-major order. Returns why it is incomplete, or an empty string.
// Requires a successful check_extent().
std::string write_npy(const TensorView& view, const std::string& path);

// Creates a folder and its parents where they are missing. Returns 0 or errno.
int make_folders(const std::string& path);

// Passes the path of a temporary file beside `path` to `write`, which returns why it failed or an empty string,
// and renames the file. Returns the reason of a failure, which leaves no file.
std::string write_whole(const std::string& path,
                        const std::function<std::string(const std::string& temporary)>& write);

}  // namespace openaclnn
