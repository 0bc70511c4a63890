// The program's standard streams, which may be closed, full, or pipes that nobody reads.
#pragma once

#include <string_view>

namespace openaclnn_cli {

// Before anything else: numbers 0 to 2 of streams that are closed are taken, so that no file gets them, and a file that reaches the
// limit of sizes is an error instead of a signal.
void prepare_streams();

// In a child, before it becomes another program: signals as this program found them.
void restore_signals();

// "openaclnn: <sentence>" on stderr, as one line without anything that a terminal would obey. Never fails.
void complain(std::string_view sentence);

// At the end: `code`, or kProblem with a sentence when something that was printed did not reach stdout. `error`: the error code of a
// print that failed already. A reader that went away is no problem: 128 + SIGPIPE without a sentence, which is also what shells
// report where the signal ends the program.
int finish_output(int code, int error = 0);

}  // namespace openaclnn_cli
