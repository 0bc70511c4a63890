// The checks of arguments. Each fails with 161002 and an error message with the argument, its value and the
// accepted values.
//
// Every room checks in this order, and the first failure is reported: dtypes, extents, ranks and shapes,
// attributes, formats, distinct elements of outputs, host arrays, and the limits of OPENACLNN_LIMITS=vendor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/status.h"
#include "ops/contract.h"

namespace openaclnn {

Status require_dtype(const Argument& argument, std::span<const aclDataType> accepted);
Status require_same_dtype(const Argument& argument, const Argument& other);

// For plan(), after the checks: a dtype without a kernel is an internal error, 561000.
Status require_kernel_for(const Argument& argument, std::span<const aclDataType> compiled);

// Checks that the rank is at most kMaxRank, no dim is negative, and counts, byte sizes and extents fit int64.
Status require_extents(std::initializer_list<const Argument*> arguments);

// `meaning` names the dims: "[T, N, D]".
Status require_rank(const Argument& argument, uint64_t rank, const char* meaning = nullptr);
Status require_rank_at_least(const Argument& argument, uint64_t rank);
Status require_same_shape(const Argument& argument, const Argument& other);
// `meaning` names the source of the expected shape: "[numWeights, D]".
Status require_shape(const Argument& argument, std::span<const int64_t> expected, const char* meaning);

Status require_plain_formats(std::initializer_list<const Argument*> arguments);
// Checks that no two elements of an output share an address.
Status require_distinct_elements(std::initializer_list<const Argument*> outputs);

}  // namespace openaclnn
