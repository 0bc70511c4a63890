// Handles closed streams, write errors of stdout, and error messages on stderr.
#include "streams.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/printable.h"
#include "base/standard_error.h"
#include "failures.h"

namespace openaclnn_cli {

namespace {

bool ignored_file_sizes = false;  // inherited from the parent process

// Opens a descriptor on which writes fail with EBADF, as they would on a closed stream. Children inherit it.
void take_if_closed(int stream) {
  if (fcntl(stream, F_GETFD) < 0) (void)!open("/", O_PATH);  // gets the lowest free descriptor: the stream's
}

// Returns the first error code of stdout, or 0 if everything was written.
int stdout_error() {
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) return errno;
  if (failed_before) return EIO;
  // Some file systems report a failed write only when the file is closed.
  const int copy = dup(STDOUT_FILENO);
  return copy >= 0 && close(copy) != 0 ? errno : 0;
}

}  // namespace

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) take_if_closed(stream);
  ignored_file_sizes = std::signal(SIGXFSZ, SIG_IGN) == SIG_IGN;
}

void restore_signals() {
  if (!ignored_file_sizes) std::signal(SIGXFSZ, SIG_DFL);
}

void complain(std::string_view sentence) {
  openaclnn::write_to_stderr(fmt::format("openaclnn: {}\n", openaclnn::printable(sentence)));
}

int finish_output(int code, int error) {
  if (error == 0) error = stdout_error();
  if (error == 0) return code;
  if (error == EPIPE) return 128 + SIGPIPE;
  complain(fmt::format("stdout cannot be written: {}", std::strerror(error)));
  return kProblem;
}

}  // namespace openaclnn_cli
