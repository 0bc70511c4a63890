// The arguments of an operator as options: commands that call operators share them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "call.h"
#include "verify/description.h"

namespace openaclnn_cli {

// The words of each option by parameter name. They are text, because CLI11 would truncate large numbers.
using GivenOptions = std::map<std::string, std::vector<std::string>>;

// Returns the option of a parameter, without its role: "--weight-decay" for weightDecay, "--var" for varRef.
std::string option_of(const openaclnn_verify::Parameter& parameter);

// Returns the name of a result in files and on the command line: "var" for varRef.
std::string result_name(const openaclnn_verify::Parameter& parameter);

// Returns the names of all results: "var, m, v".
std::string result_names(const openaclnn_verify::Description& description);

// Returns a line of help on the values of options for tensors.
std::string tensor_forms();

// Adds an option for every parameter except outputs. `given` must live as long as the command.
void add_argument_options(CLI::App& command, const openaclnn_verify::Description& description,
                          GivenOptions& given);

// Reads numbers and loads tensors. Throws BadInput with an error message that names the option if a value is
// missing or invalid.
LoadedArguments read_arguments(const openaclnn_verify::Description& description, const GivenOptions& given);

}  // namespace openaclnn_cli
