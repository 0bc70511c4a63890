// Error messages for unknown words on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace openaclnn_cli {

// Returns the error message for a word that `command` does not know: an option, a command, an operator, or an
// extra argument. Names the most similar valid word if there is one.
std::string unknown_word_text(const CLI::App& command, const std::string& word);

// Returns the command as it is typed: "openaclnn trace".
std::string spoken_name(const CLI::App& command);

// Returns the innermost command on the command line.
const CLI::App& innermost(const CLI::App& root);

}  // namespace openaclnn_cli
