// openaclnn completion: generates shell scripts from the commands and options.
#include <fmt/core.h>

#include <memory>

#include "program.h"

namespace openaclnn_cli {

namespace {

// The words that may follow a command: its subcommands and options.
struct Words {
  std::string path;                                        // "openaclnn run Embedding"
  std::vector<std::pair<std::string, std::string>> words;  // with their descriptions
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void collect(CLI::App& command, const std::string& path, std::vector<Words>& all) {
  Words here = {path, {}};
  const auto children = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* const child : children)
    here.words.emplace_back(child->get_name(), first_line(child->get_description()));
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      here.words.emplace_back("--" + name, first_line(option->get_description()));
  }
  all.push_back(std::move(here));
  for (CLI::App* const child : children) collect(*child, path + " " + child->get_name(), all);
}

std::string list_of(const Words& words) {
  std::string list;
  for (const auto& [word, text] : words.words) list += (list.empty() ? "" : " ") + word;
  return list;
}

// The commands on the line so far determine the words. Everything else is completed with file names.
void print_bash(const std::vector<Words>& all) {
  fmt::print(
      "# Completion of openaclnn for bash: source <(openaclnn completion bash)\n"
      "_openaclnn() {{\n"
      "  local path=openaclnn word words\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$path $word\" in\n");
  for (const Words& words : all) {
    if (words.path != "openaclnn")
      fmt::print("      {}) path={} ;;\n", shell_word(words.path), shell_word(words.path));
  }
  fmt::print("    esac\n  done\n  case $path in\n");
  for (const Words& words : all)
    fmt::print("    {}) words={} ;;\n", shell_word(words.path), shell_word(list_of(words)));
  fmt::print(
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\")\n"
      "}}\n"
      "complete -o default -F _openaclnn openaclnn\n");
}

// zsh runs bash completion functions.
void print_zsh(const std::vector<Words>& all) {
  fmt::print(
      "# Completion of openaclnn for zsh: source <(openaclnn completion zsh)\n"
      "autoload -U +X bashcompinit && bashcompinit\n_openaclnn() {{\n"
      "  emulate -L zsh -o KSH_ARRAYS -o SH_WORD_SPLIT\n"
      "  local path_of=openaclnn word words=''\n"
      "  for word in \"${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}\"; do\n    case \"$path_of $word\" in\n");
  for (const Words& words : all) {
    if (words.path != "openaclnn")
      fmt::print("      {}) path_of={} ;;\n", shell_word(words.path), shell_word(words.path));
  }
  fmt::print("    esac\n  done\n  case $path_of in\n");
  for (const Words& words : all)
    fmt::print("    {}) words={} ;;\n", shell_word(words.path), shell_word(list_of(words)));
  fmt::print(
      "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[$COMP_CWORD]}}\"))\n}}\n"
      "complete -o default -F _openaclnn openaclnn\n");
}

void print_fish(const std::vector<Words>& all) {
  fmt::print("# Completion of openaclnn for fish: openaclnn completion fish | source\n");
  for (const Words& words : all) {
    const std::string rest = words.path == "openaclnn" ? "" : words.path.substr(words.path.find(' ') + 1);
    std::string condition = rest.empty() ? "__fish_use_subcommand" : "";
    for (size_t begin = 0; begin < rest.size();) {
      const size_t end = std::min(rest.find(' ', begin), rest.size());
      condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                               rest.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const auto& [word, text] : words.words) {
      const bool is_option = word.starts_with("--");
      fmt::print("complete -c openaclnn -n {} {} {} -d {}\n", shell_word(condition), is_option ? "-l" : "-a",
                 is_option ? word.substr(2) : word, shell_word(text));
    }
  }
}

int print_completion(Program& program, const std::string& shell) {
  std::vector<Words> all;
  collect(program.app, "openaclnn", all);
  if (shell == "bash") print_bash(all);
  if (shell == "zsh") print_zsh(all);
  if (shell == "fish") print_fish(all);
  return kFine;
}

}  // namespace

void add_completion(Program& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const command = add_command(program, "completion", "Print a completion script for a shell",
                                        "Example for ~/.bashrc: source <(openaclnn completion bash)",
                                        [&program, shell] { return print_completion(program, *shell); });
  command->add_option("SHELL", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace openaclnn_cli
