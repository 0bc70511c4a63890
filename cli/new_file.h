// Files of results: complete, or as they were before.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace openaclnn_cli {

// A descriptor that is closed in the end.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int operator*() const { return descriptor_; }

 private:
  int descriptor_;
};

// A file that gets its contents in one step. They are collected in a temporary file in the folder of the wanted one, which publish()
// renames; without publish() nothing stays. Symbolic links are followed. A file that is replaced keeps its mode, owner and group.
// Where a rename would lose something - other hard links, an access control list, an owner that this user cannot give - the
// complete contents are copied into the old file instead; its disk space is reserved first. Devices and pipes are written directly.
// Everything throws Failure with a sentence that names the file.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view bytes);
  // Everything is on the disk, or the disk's error is thrown here.
  void sync() const;
  void publish();

 private:
  int open_temporary();
  void overwrite() const;
  [[noreturn]] void fail(int error) const;

  const std::string path_, target_;  // as the user wrote it, and behind symbolic links
  std::string temporary_;            // empty: the target is written directly
  bool can_rename_ = true;
  const File file_;  // last: it needs the others
};

}  // namespace openaclnn_cli
