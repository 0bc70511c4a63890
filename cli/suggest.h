// What to say of words on the command line that nothing is called.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace openaclnn_cli {

// The refusal of a word that `command` does not know: an option, a command, an operator, or one argument too many. It names the nearest
// one that exists, when one is near.
std::string unknown_word_text(const CLI::App& command, const std::string& word);

// As it is typed: "openaclnn trace".
std::string spoken_name(const CLI::App& command);

// The innermost command that the command line named.
const CLI::App& innermost(const CLI::App& root);

}  // namespace openaclnn_cli
