// The standard streams, which may be closed, full, or pipes that nobody reads.
#pragma once

#include <string>

namespace train {

// Before anything else: takes the numbers 0 to 2 of streams that are closed, so that no file gets
// them, and makes a file that reaches the limit of sizes an error instead of a signal.
void prepare_streams();

// "openaclnn-train: <sentence>" on stderr, without anything that a terminal would obey. Never fails.
void complain(const std::string& sentence);

// At the end: `code`, or 1 with a sentence when something that was printed did not reach stdout.
// A reader of stdout that went away is no problem of this program: 128 + SIGPIPE, no sentence.
int finish_output(int code);

}  // namespace train
