// What every subcommand is made of: a name, options, an action that returns an exit code, and a way to refuse bad input.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>

namespace openaclnn_cli {

enum ExitCode {
  kFine = 0,      // everything asked for was done, and nothing is wrong
  kProblem = 1,   // it was done and something is wrong, or it could not be done
  kBadInput = 2,  // an argument or a file is not what it must be; nothing was written
};

// What the user gave is not what it must be. The sentence is all that is printed.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Something that was asked for failed although the input is fine.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Program {
  CLI::App app;
  std::function<int()> action;  // of the subcommand that was chosen
};

// A subcommand without options. `what` is one line; `details` follows the options in its help and in its man page.
CLI::App* add_command(Program& program, CLI::App& parent, const std::string& name, const std::string& what,
                      const std::string& details, std::function<int()> action);
inline CLI::App* add_command(Program& program, const std::string& name, const std::string& what,
                             const std::string& details, std::function<int()> action) {
  return add_command(program, program.app, name, what, details, std::move(action));
}
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
