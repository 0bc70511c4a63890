// Starts programs and waits for them.
#include "process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "program.h"
#include "streams.h"

namespace openaclnn_cli {

namespace {

constexpr int kNotStarted = 127;

volatile std::sig_atomic_t interruption = 0;  // the signal that an InterruptionHold received

std::vector<char*> arguments_of(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Failure(fmt::format("cannot wait for a program: {}", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Forks. If the caller of this program ignores SIGCHLD, the system would discard the child's exit code. The child
// gets SIGTERM when this process ends.
pid_t fork_for(const std::string& program) {
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw Failure(fmt::format("cannot start {}: {}", program, std::strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent && getppid() != 0) _exit(kNotStarted);  // 0: in a namespace that lacks the parent
    restore_signals();
  }
  return child;
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Failure(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  return ends;
}

// Reads both pipes until they end, so that neither fills up. Returns whether they ended within the limits.
bool drain(const std::array<int, 2>& from, const std::array<std::string*, 2>& to, const RunLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point last = Clock::now() + limits.time;
  std::array<pollfd, 2> wanted = {pollfd{from[0], POLLIN, 0}, pollfd{from[1], POLLIN, 0}};
  while (wanted[0].fd >= 0 || wanted[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now()).count();
    if (left <= 0 || to[0]->size() + to[1]->size() > limits.output_bytes || interruption != 0) return false;
    constexpr int64_t kMostMilliseconds = 500;  // a signal just before poll() doesn't end it
    const int ready =
        poll(wanted.data(), wanted.size(), static_cast<int>(std::min<int64_t>(left, kMostMilliseconds)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k].fd < 0 || wanted[k].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(wanted[k].fd, buffer, sizeof buffer);
      if (count > 0) to[k]->append(buffer, static_cast<size_t>(count));
      if (count == 0) wanted[k].fd = -1;
    }
  }
  return true;
}

}  // namespace

InterruptionHold::InterruptionHold() {
  struct sigaction remember = {};
  remember.sa_handler = [](int signal) { interruption = signal; };
  for (size_t k = 0; k < kSignals.size(); ++k) {
    sigaction(kSignals[k], nullptr, &before_[k]);
    if (before_[k].sa_handler != SIG_IGN) sigaction(kSignals[k], &remember, nullptr);
  }
}

InterruptionHold::~InterruptionHold() {
  for (size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &before_[k], nullptr);
  if (interruption != 0) (void)raise(interruption);
}

Finished run_program(const std::vector<std::string>& words, const RunLimits& limits) {
  const std::vector<char*> arguments = arguments_of(words);
  const std::array<int, 2> in = make_pipe(), out = make_pipe(), err = make_pipe();
  const pid_t child = fork_for(words[0]);
  if (child == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(kNotStarted);
  }
  for (const int end : {in[0], in[1], out[1], err[1]}) close(end);
  Finished finished = {};
  if (!drain({out[0], err[0]}, {&finished.output, &finished.errors}, limits)) kill(child, SIGKILL);
  close(out[0]);
  close(err[0]);
  finished.exit_code = wait_for(child);
  if (interruption != 0) throw Failure(fmt::format("{} was interrupted", words[0]));
  return finished;
}

bool is_program(const std::string& name) {
  const auto is_executable = [](const std::string& path) {
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return is_executable(name);
  const char* const path = std::getenv("PATH");
  // As execvp does: an empty element, also the last one, is the current folder.
  std::istringstream folders((path != nullptr ? std::string(path) : "/bin:/usr/bin") + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_executable(folder.empty() ? name : folder + "/" + name)) return true;
  }
  return false;
}

int run_here(const std::vector<std::string>& words, const std::vector<std::string>& variables) {
  const std::vector<char*> arguments = arguments_of(words);
  const std::vector<char*> settings = arguments_of(variables);
  const pid_t child = fork_for(words[0]);
  if (child == 0) {
    for (char* const setting : settings) {
      if (setting != nullptr) putenv(setting);
    }
    execvp(arguments[0], arguments.data());
    complain(fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
    _exit(kNotStarted);
  }
  // Ctrl-C only interrupts the started program; this program then reports how it ended.
  std::signal(SIGINT, SIG_IGN);
  return wait_for(child);
}

void become(const std::vector<std::string>& words) {
  const std::vector<char*> arguments = arguments_of(words);
  restore_signals();
  execvp(arguments[0], arguments.data());
  throw Failure(fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
}

}  // namespace openaclnn_cli
