// Reads aclInit's configuration file.
#include "runtime/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "acl/acl_base.h"
#include "base/cancellation.h"
#include "base/json_view.h"
#include "base/text.h"

namespace openaclnn {

namespace {

constexpr off_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 10;

Status unreadable(const char* path, const std::string& why) {
  return {ACL_ERROR_INVALID_FILE,
          text("configPath '", path, "' ", why, "; it must be a readable JSON file of at most 1 MiB")};
}

// Closes the descriptor on destruction.
struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

}  // namespace

Result<std::string> read_config_file(const char* path) {
  const CancellationHold no_cancellation;
  // O_NONBLOCK prevents a named pipe from blocking the caller.
  const File file{open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) return unreadable(path, text("cannot be opened (", std::strerror(errno), ")"));
  struct stat info = {};
  if (fstat(file.descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return unreadable(path, "is not a regular file");
  if (info.st_size > kMaxBytes) return unreadable(path, text("has ", info.st_size, " bytes"));
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < contents.size()) {
    const ssize_t got = read(file.descriptor, contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, text("cannot be read (", std::strerror(errno), ")"));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  contents.resize(filled);
  const std::optional<size_t> error = find_json_error(contents, kMaxDepth);
  if (!error) return contents;
  return Status(ACL_ERROR_PARSE_FILE,
                text("configPath '", path, "' is not valid JSON with at most ", kMaxDepth,
                     " levels of nesting (first error near byte ", *error, ")"));
}

}  // namespace openaclnn
