// Other programs that commands start.
#pragma once

#include <string>
#include <vector>

namespace openaclnn_cli {

struct Finished {
  int exit_code;       // 128 + signal for one that a signal ended, 127 for one that could not be started
  std::string output;  // stdout
  std::string errors;  // stderr
};

// Runs a program found on PATH to its end and keeps what it says.
Finished run_program(const std::vector<std::string>& words, const std::string& input = "");

// Runs a program to its end on this terminal; `variables` ("NAME=value") are added to its environment. Returns its exit code as above.
int run_here(const std::vector<std::string>& words, const std::vector<std::string>& variables);

// Becomes the program; throws Failure when it cannot be started.
[[noreturn]] void become(const std::vector<std::string>& words);

}  // namespace openaclnn_cli
