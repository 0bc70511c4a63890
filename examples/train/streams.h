// The standard streams, which may be closed, full, or pipes without a reader.
#pragma once

#include <string>

namespace train {

// Call it first: takes the numbers 0 to 2 of closed streams, so that no file gets them, and makes
// files at the size limit an error instead of a signal.
void prepare_streams();

// Prints "openaclnn-train: <message>" on stderr, without control characters. Never fails.
void complain(const std::string& sentence);

// Call it last: returns `code`, or 1 with an error message if a part of the output did not reach
// stdout. A closed reader of stdout is not an error: it returns 128 + SIGPIPE without a message.
int finish_output(int code);

}  // namespace train
