// Runs a program of this folder in a separate process and collects its output.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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
inline Finished run_program(const std::string& path, const std::vector<std::string>& arguments,
                            const Variables& variables = {}) {
  std::array<int, 2> ends;
  Finished finished;
  if (pipe(ends.data()) != 0) return finished;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // The environment of the child: ours, with the variables replaced.
  std::vector<std::string> entries;
  for (auto v = variables.rbegin(); v != variables.rend(); ++v)
    entries.push_back(v->first + "=" + v->second);  // the last one takes precedence
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view whole = *entry;
    const auto is_replaced = [&](const auto& variable) {
      return whole.substr(0, whole.find('=')) == variable.first;
    };
    if (std::none_of(variables.begin(), variables.end(), is_replaced)) entries.emplace_back(whole);
  }
  std::vector<char*> envp;
  for (std::string& entry : entries) envp.push_back(entry.data());
  envp.push_back(nullptr);
  // Not fork(), which is under test.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    finished.output.append(buffer.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  if (spawned != 0) return finished;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  return finished;
}

inline void expect_success(const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << "signal " << finished.signal
                                   << (finished.signal == 14 ? " (it hung)" : "") << "\n"
                                   << finished.output;
}

}  // namespace runtime_test
