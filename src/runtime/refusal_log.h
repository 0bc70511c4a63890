// OPENACLNN_LOG=info: writes the error message of every failed call to stderr, once per distinct text.
#pragma once

#include <string_view>

namespace openaclnn {

// Writes "openaclnn: <function>: <sentence> [<code> <NAME>]" to stderr, unless OPENACLNN_LOG is below info or
// the same line was already written. Never fails, takes no lock and preserves errno. It may be called
// anywhere: after a failed allocation, in a forked child, and in destructors at exit.
void log_refusal(const char* function, std::string_view sentence, int code) noexcept;

}  // namespace openaclnn
