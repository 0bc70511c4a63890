// Opens files safely in processes whose standard streams are closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace openaclnn {

// open() with O_CLOEXEC and a descriptor above 2. If a standard stream is closed, the file would otherwise
// get its descriptor, and the program's output would go into the file.
inline int open_above_standard(const char* path, int flags, mode_t mode = 0) {
  const int file = open(path, flags | O_CLOEXEC, mode);
  if (file < 0 || file > STDERR_FILENO) return file;
  const int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(file);
  return higher;
}

}  // namespace openaclnn
