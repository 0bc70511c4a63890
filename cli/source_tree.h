// Finds the source tree, which contains the benchmark and the demo.
#pragma once

#include <string>

namespace openaclnn_cli {

// Returns the folder with the script `dev`, above this program or above the current folder; empty if there is
// none.
std::string source_tree();

// The same; throws Failure, which names the command, if there is none.
std::string required_source_tree(const char* command);

}  // namespace openaclnn_cli
