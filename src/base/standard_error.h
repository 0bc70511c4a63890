// The only function through which the library and its program write to stderr.
#pragma once

#include <string_view>

namespace openaclnn {

// Writes the text with one call. If stderr is closed, full, or a pipe without readers, the text is lost
// without an exception or a signal. errno does not change. If stderr was closed at start and descriptor 2 is
// now a file of the program, nothing is written.
void write_to_stderr(std::string_view text) noexcept;

}  // namespace openaclnn
