// Lines that name the inputs of a result, and sums of their terms. For the rooms' sources and faults.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "verify/sources.h"

namespace openaclnn_verify {

// More terms than this are not collected for one element.
inline constexpr int64_t kMostTerms = int64_t{1} << 20;

// Returns "gradY[12:20, 7] = 0.5, -1.25, 3, 0.125, ... (8 values)" with the first values; value(k) is the k-th.
std::string source_line(const std::string& place, int64_t count, const std::function<double(int64_t)>& value);
// Returns "3", or "3:5" for more than one, as the index of a run.
std::string run_text(int64_t begin, int64_t end);
// Returns "[3, 0, 17]".
std::string index_text(int64_t element, const Shape& dims);

// Returns an element of a tensor of indices exactly, without its fraction. INT64_MIN: it is not a number of a row.
int64_t whole_number_at(const Array& array, int64_t element);

// The exact sum of the terms, and how far a careful sum in FLOAT may be away.
FaultyValue faulty_sum(const ElementSources& sources);

// A fault that reads other terms: its numbers are the sums of `find`.
Fault fault_of_terms(std::string name, std::string text, FindSources find);

}  // namespace openaclnn_verify
