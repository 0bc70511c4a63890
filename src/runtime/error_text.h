// Per-thread error state: recent error messages and the last runtime error.
#pragma once

#include <string_view>

namespace openaclnn {

// Adds "<function>: <sentence> [<code> <NAME>]" as this thread's newest message, truncated to 1023 bytes. At
// most 16 messages are kept. Never fails: if the message buffer cannot be allocated, only the newest message
// is kept, truncated to 191 bytes.
void add_error_line(const char* function, std::string_view sentence, int code);

// Returns and clears this thread's messages, newest first, one per line; nullptr if there are none. The text
// is valid until the next call on this thread.
const char* take_error_text();

// The last nonzero code of a runtime (acl*) function on this thread.
int& last_runtime_error();

}  // namespace openaclnn
