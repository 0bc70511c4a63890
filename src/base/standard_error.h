// The one way in which the library and its program write to stderr.
#pragma once

#include <string_view>

namespace openaclnn {

// Writes the text in one piece. Stderr may be closed, full or a pipe that nobody reads: then the text is lost, and nothing else
// happens: no exception, no signal, and errno stays. Descriptor 2 is left alone when it is not the stderr that the process was
// started with but a file of the program, which got the number because stderr was closed.
void write_to_stderr(std::string_view text) noexcept;

}  // namespace openaclnn
