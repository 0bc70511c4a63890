// Result files: either complete, or as they were before.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace openaclnn_cli {

// A descriptor that the destructor closes.
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

// A file that receives its contents in one step. Data is written to a temporary file in the target's folder,
// which publish() renames; without publish() it is deleted. Where the file system has files without a name, it is
// one, so a process that is killed while it writes leaves nothing behind. Symbolic links are followed. A replaced
// file keeps its mode, owner and group. A rename could lose other hard links, an access control list, or an owner
// that this user cannot set. In these cases the complete contents are copied into the old file instead, after
// reserving disk space. Devices and pipes are written directly. All functions throw Failure with an error message
// that names the file.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view bytes);
  // Flushes everything to the disk; throws the disk's error.
  void sync() const;
  void publish();

 private:
  int open_to_write();
  int open_temporary();
  void give_name();
  void overwrite() const;
  [[noreturn]] void fail(int error) const;

  const std::string path_, target_;  // as the user wrote it, and with links resolved
  std::string temporary_;            // the name of the temporary file; empty: it has none
  bool is_direct_ = false;           // the target is written directly
  bool can_rename_ = true;
  const File file_;  // last member: it needs the others
};

// Returns whether both names are those of one regular file, or would be: the file need not exist.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace openaclnn_cli
