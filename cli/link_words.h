// Words of link lines that CMake and make files share.
#pragma once

#include <string>

#include "link_lines.h"

namespace openaclnn_cli {

// Returns "ascendcl" for a path that ends in libascendcl.so, libascendcl.so.1 or libascendcl.a; empty for
// other words.
std::string library_in_path(const std::string& word);

// Adds the library of each -l flag among the words.
void add_flags(const std::string& words, int line, LinkLines& found);

}  // namespace openaclnn_cli
