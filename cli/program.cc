// Adds subcommands with a common appearance.
#include "program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

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

CLI::Validator integer_up_to(int64_t most) {
  const auto check = [most](const std::string& text) -> std::string {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && number >= 0 && number <= most) return {};
    return fmt::format("'{}' isn't an integer from 0 to {}", shown(text), most);
  };
  return {check, ""};
}

CLI::Validator number_from_0() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && std::isfinite(number) && number >= 0) return {};
    return fmt::format("'{}' isn't a finite number of at least 0", shown(text));
  };
  return {check, ""};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    return fmt::format("'{}' isn't accepted; accepted are {}", shown(text), fmt::join(words, ", "));
  };
  return {check, ""};
}

void add_json_option(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON"); }

}  // namespace openaclnn_cli
