// Adds subcommands with a common appearance.
#include "program.h"

namespace openaclnn_cli {

CLI::App* add_command(Program& program, CLI::App& parent, const std::string& name, const std::string& what,
                      const std::string& details, std::function<int()> action) {
  CLI::App* const command = parent.add_subcommand(name, what);
  command->footer(details);
  command->parse_complete_callback([&program, action = std::move(action)] {
    if (!program.action) program.action = action;  // for nested commands, the inner one completes first
  });
  return command;
}

std::vector<std::string> words_for(const Program& program, const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  words.insert(words.end(), program.rest.begin(), program.rest.end());
  return words;
}

void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON, for programs that read it");
}

}  // namespace openaclnn_cli
