// POSIX calls, because fmt::print() throws where stderr cannot be written.
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "report.h"

namespace train {

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Reads and writes give EBADF, as those of a closed stream do.
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/", O_PATH);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void complain(const std::string& sentence) {
  std::string line = "openaclnn-train: " + printable(sentence);
  std::ranges::replace(line, '\n', '?');
  line += '\n';
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  (void)!write(STDERR_FILENO, line.data(), line.size());
  std::signal(SIGPIPE, before);
}

int finish_output(int code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  if (errno == EPIPE) return 128 + SIGPIPE;
  complain("the results cannot be printed to the standard output");
  return 1;
}

}  // namespace train
