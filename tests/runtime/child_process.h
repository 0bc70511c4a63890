// Runs a program of this folder as a process of its own and collects what it wrote.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace runtime_test {

struct Finished {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  std::string output;  // stdout and stderr
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// Programs limit their own time with alarm(), so a hang ends as signal SIGALRM.
inline Finished run_program(const std::string& path, const std::vector<std::string>& arguments, const Variables& variables = {}) {
  std::array<int, 2> ends;
  Finished finished;
  if (pipe(ends.data()) != 0) return finished;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv(path.c_str(), argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    finished.output.append(buffer.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  return finished;
}

inline void expect_success(const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << "signal " << finished.signal << (finished.signal == 14 ? " (it hung)" : "") << "\n"
                                   << finished.output;
}

}  // namespace runtime_test
