// Writes to descriptor 2 after checking that it is stderr.
#include "base/standard_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/cancellation.h"
#include "base/quiet_signals.h"

namespace openaclnn {

namespace {

// Read while the library loads: later another file could have the descriptor.
const bool was_open = fcntl(STDERR_FILENO, F_GETFD) >= 0;

// Standard streams survive exec(), so a descriptor with FD_CLOEXEC is a file of the program.
bool is_standard_error() {
  const int flags = fcntl(STDERR_FILENO, F_GETFD);
  return was_open && flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

void write_to_stderr(std::string_view text) noexcept {
  const int error = errno;
  if (is_standard_error()) {
    const CancellationHold no_cancellation;
    const QuietSignals quiet;
    while (!text.empty()) {
      const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
      if (written == 0 || (written < 0 && errno != EINTR)) break;
      if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    }
  }
  errno = error;
}

}  // namespace openaclnn
