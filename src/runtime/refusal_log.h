// OPENACLNN_LOG=info: the message of every refused call on stderr, once per distinct text.
#pragma once

#include <string_view>

namespace openaclnn {

// Writes "openaclnn: <function>: <sentence> [<code> <NAME>]" to stderr unless OPENACLNN_LOG is below info or the same line was
// written before. Never fails, takes no lock, and leaves errno alone, so any thread may call it anywhere: in the failure path of an
// allocation, in a forked child, and in destructors at exit.
void log_refusal(const char* function, std::string_view sentence, int code) noexcept;

}  // namespace openaclnn
