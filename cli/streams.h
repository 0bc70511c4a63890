// The program's standard streams, which may be closed, full, or pipes without readers.
#pragma once

#include <string_view>

namespace openaclnn_cli {

// Call this first. Occupies descriptors 0 to 2 of closed streams, so that no file gets them. Makes reaching
// the file size limit an error instead of a signal.
void prepare_streams();

// For a child process before exec: restores the signals that this program started with.
void restore_signals();

// Writes "openaclnn: <sentence>" to stderr, as one line without control characters. Never fails.
void complain(std::string_view sentence);

// Call this at the end. Returns `code`, or kProblem with an error message if some output did not reach
// stdout. `error` is the error code of an earlier failed print. A closed pipe is not an error: the result is
// 128 + SIGPIPE without a message. Shells report the same if the signal ends the program.
int finish_output(int code, int error = 0);

}  // namespace openaclnn_cli
