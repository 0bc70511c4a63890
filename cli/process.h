// Starts other programs for commands.
#pragma once

#include <signal.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct Finished {
  int exit_code;       // 128 + signal if a signal ended it, 127 if it could not be executed
  std::string output;  // stdout
  std::string errors;  // stderr
};

// A program that exceeds them is killed.
struct RunLimits {
  std::chrono::milliseconds time = std::chrono::hours(24);
  size_t output_bytes = size_t{1} << 28;
};

// While an object lives, SIGHUP, SIGINT and SIGTERM don't end this process: run_program kills its program instead and throws Failure. The
// object's destructor repeats the signal, after objects that were created later have deleted their temporary files.
class InterruptionHold {
 public:
  InterruptionHold();
  ~InterruptionHold();
  InterruptionHold(const InterruptionHold&) = delete;
  InterruptionHold& operator=(const InterruptionHold&) = delete;

 private:
  static constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_;
};

// Runs a program found on PATH without input until it ends and returns its output. The program
// gets SIGTERM when this process ends.
Finished run_program(const std::vector<std::string>& words, const RunLimits& limits = {});

// Returns whether run_here and become find the program: an executable file with this path, or on PATH.
bool is_program(const std::string& name);

// Runs a program on this terminal until it ends, with `variables` ("NAME=value") added to its environment.
// Returns its exit code.
int run_here(const std::vector<std::string>& words, const std::vector<std::string>& variables);

// Replaces this process by the program; throws Failure if it cannot be started.
[[noreturn]] void become(const std::vector<std::string>& words);

}  // namespace openaclnn_cli
