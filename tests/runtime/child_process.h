// Runs a program of this folder in a separate process and collects its output.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/spawn.h"

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
  const openaclnn_test::Spawned spawned = openaclnn_test::spawn(path.c_str(), argv.data(), envp.data());
  Finished finished{.output = spawned.output};
  if (!spawned.status) return finished;
  if (WIFEXITED(*spawned.status)) finished.exit_code = WEXITSTATUS(*spawned.status);
  if (WIFSIGNALED(*spawned.status)) finished.signal = WTERMSIG(*spawned.status);
  return finished;
}

inline void expect_success(const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << "signal " << finished.signal
                                   << (finished.signal == 14 ? " (it hung)" : "") << "\n"
                                   << finished.output;
}

}  // namespace runtime_test
