// The parts of a subcommand: a name, options, an action that returns an exit code, and errors for invalid
// input.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "failures.h"

namespace openaclnn_cli {

struct Program {
  CLI::App app;
  std::function<int()> action;    // of the selected subcommand
  std::vector<std::string> rest;  // words after --, for the program that a command starts
};

// Adds a subcommand without options. `what` is one line; `details` follow the options in its help and man
// page.
CLI::App* add_command(Program& program, CLI::App& parent, const std::string& name, const std::string& what,
                      const std::string& details, std::function<int()> action);
inline CLI::App* add_command(Program& program, const std::string& name, const std::string& what,
                             const std::string& details, std::function<int()> action) {
  return add_command(program, program.app, name, what, details, std::move(action));
}
// Returns the words for the program that a command starts: unknown words, and those after --.
std::vector<std::string> words_for(const Program& program, const CLI::App& command);
// Validators of arguments. Their error messages name the text and what is accepted.
CLI::Validator integer_up_to(int64_t most);
CLI::Validator number_from_0();  // finite
CLI::Validator one_of(std::vector<std::string> words);
// Adds --json.
void add_json_option(CLI::App& command, bool& json);

// Each function is defined in the file of the same name.
void add_doctor(Program& program);
void add_ops(Program& program);
void add_run(Program& program);
void add_golden(Program& program);
void add_judge(Program& program);
void add_check(Program& program);
void add_bench(Program& program);
void add_trace(Program& program);
void add_demo(Program& program);
void add_explain(Program& program);
void add_compat_check(Program& program);
void add_completion(Program& program);
void add_man(Program& program);

}  // namespace openaclnn_cli
