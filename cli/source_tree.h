// What only a source tree has: the benchmark and the demo.
#pragma once

#include <string>

namespace openaclnn_cli {

// The folder with the script `dev`: above this program, or above the current folder. Empty when there is none.
std::string source_tree();

}  // namespace openaclnn_cli
