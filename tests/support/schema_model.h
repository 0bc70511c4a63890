// The expected result of phase 1 for any call that a schema describes, and the table of (parameter x mistake)
// based on it.
#pragma once

#include <string>
#include <vector>

#include "support/phase1_mistakes.h"

namespace openaclnn_test {

// A code, and a part of its error message besides the function's name; 0: accepted.
struct Verdict {
  int code = 0;
  std::string part;
};

// The rules for every operator (pointers, handles, extents, formats, outputs that overlap themselves) and
// the schema's own. The part belongs to the first mistake only if there is just one.
Verdict verdict_of(const Schema& schema, const CallArguments& call);

// One parameter of the valid call with one value that a caller might try.
struct Cell {
  std::string parameter, mistake;
  CallArguments call;
};

// Every parameter with every mistake of its kind, including accepted border values.
std::vector<Cell> all_cells(const Schema& schema);

// Values at the limits of integers, reals and strides, for the table and for fuzzers.
inline constexpr int64_t kBorders[] = {INT64_MIN,
                                       INT64_MIN + 1,
                                       -(int64_t{1} << 32),
                                       -1,
                                       0,
                                       1,
                                       2,
                                       (int64_t{1} << 31) - 1,
                                       int64_t{1} << 31,
                                       int64_t{1} << 32,
                                       (int64_t{1} << 32) + 1,
                                       int64_t{1} << 61,
                                       int64_t{1} << 62,
                                       INT64_MAX - 1,
                                       INT64_MAX};
extern const std::vector<double> kRealBorders;

}  // namespace openaclnn_test
