// Finds the most similar option, command or operator.
#include "suggest.h"

#include <fmt/core.h>

#include "base/function_name.h"
#include "base/nearest.h"
#include "rooms.h"

namespace openaclnn_cli {

std::string spoken_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? "openaclnn" : spoken_name(*parent) + " " + command.get_name();
}

namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const child : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(child->get_name());
  return names;
}

// Returns "; did you mean 'X'?", or which command lists the valid names. `plural`: what the names are.
std::string advice(const std::string& word, const std::vector<std::string>& names, const CLI::App& command,
                   const std::string& plural) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string nearest = openaclnn::did_you_mean(openaclnn::without_aclnn(word), candidates);
  return nearest.empty() ? fmt::format("; `{} --help` lists the {}", spoken_name(command), plural) : nearest;
}

}  // namespace

std::string unknown_word_text(const CLI::App& command, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option '{}' of `{}`{}", name, spoken_name(command),
                       advice(name, option_names(command), command, "options"));
  }
  const std::vector<std::string> children = command_names(command);
  if (children.empty())
    return fmt::format("unexpected argument '{}'; `{} --help` lists the arguments", word,
                       spoken_name(command));
  const std::string what = command.get_parent() == nullptr ? "command" : "operator";
  return fmt::format("unknown {} '{}'{}", what, word, advice(word, children, command, what + "s"));
}

const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

}  // namespace openaclnn_cli
