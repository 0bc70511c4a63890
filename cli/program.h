// What every subcommand is made of: a name, options, an action that returns an exit code, and a way to refuse bad input.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "failures.h"

namespace openaclnn_cli {

struct Program {
  CLI::App app;
  std::function<int()> action;    // of the subcommand that was chosen
  std::vector<std::string> rest;  // what follows --: for the program that a command starts
};

// A subcommand without options. `what` is one line; `details` follows the options in its help and in its man page.
CLI::App* add_command(Program& program, CLI::App& parent, const std::string& name, const std::string& what,
                      const std::string& details, std::function<int()> action);
inline CLI::App* add_command(Program& program, const std::string& name, const std::string& what,
                             const std::string& details, std::function<int()> action) {
  return add_command(program, program.app, name, what, details, std::move(action));
}
// The words for a program that the command starts: those that it does not know, and those behind --.
std::vector<std::string> words_for(const Program& program, const CLI::App& command);
// --json
void add_json_option(CLI::App& command, bool& json);

// One of these per file of the same name.
void add_doctor(Program& program);
void add_ops(Program& program);
void add_run(Program& program);
void add_check(Program& program);
void add_bench(Program& program);
void add_trace(Program& program);
void add_demo(Program& program);
void add_explain(Program& program);
void add_compat_check(Program& program);
void add_completion(Program& program);
void add_man(Program& program);

}  // namespace openaclnn_cli
