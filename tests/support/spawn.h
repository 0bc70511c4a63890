// Starts a program and collects its output: posix_spawn and one pipe, because some tests are about fork().
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace openaclnn_test {

struct Spawned {
  std::string output;              // stdout and stderr
  std::optional<int> status = {};  // as from waitpid(); nullopt: it did not start
};

inline Spawned spawn(const char* path, char* const* arguments, char* const* environment) {
  Spawned spawned;
  int ends[2];
  if (pipe(ends) != 0) return spawned;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const bool has_started = posix_spawn(&child, path, &actions, nullptr, arguments, environment) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t got = 0; has_started && (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    spawned.output.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  if (has_started && waitpid(child, &status, 0) == child) spawned.status = status;
  return spawned;
}

}  // namespace openaclnn_test
