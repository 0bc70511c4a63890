// The text at the end of a run.
#pragma once

#include <string>
#include <vector>

#include "operators.h"

namespace train {

// Returns 12,345 as "12,345".
std::string with_commas(int64_t number);
// The worst errors of some checked steps in one line.
std::string short_errors(const std::vector<OperatorRecord>& check);
// Operator, calls, share of the time, GB/s of the least possible traffic, worst error. `seconds`:
// of the whole training, without the oracle.
std::string operator_table(const std::vector<OperatorRecord>& records, double seconds);
// Bytes as text for a terminal: control characters and broken UTF-8 become '?'.
std::string printable(const std::string& bytes);

}  // namespace train
