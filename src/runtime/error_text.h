// Per-thread error state: the recent messages and the last runtime error.
#pragma once

#include <string_view>

namespace openaclnn {

// Adds "<function>: <sentence> [<code> <NAME>]" as this thread's newest message: at most 1023 bytes, at most 16 kept.
// Never fails; when the message buffer cannot be allocated, the newest message alone is kept, cut to 191 bytes.
void add_error_line(const char* function, std::string_view sentence, int code);

// This thread's messages, newest first, one per line, and clears them; nullptr when there are none. The text is valid
// until the next call on this thread.
const char* take_error_text();

// The last non-zero code of a runtime (acl*) function on this thread.
int& last_runtime_error();

}  // namespace openaclnn
