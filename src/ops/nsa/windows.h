// Checks shared by token compression in native sparse attention, its gradient, and the operator that stores
// its results in a cache.
#pragma once

#include <cstdint>
#include <string>

#include "ops/contract.h"
#include "ops/nsa/plan.h"

namespace openaclnn {

// The dtypes of token compression, in the order of its reference page.
inline constexpr aclDataType kWindowDtypes[] = {ACL_FLOAT16, ACL_BF16, ACL_FLOAT};

// How the lengths of the sequences are given.
enum SequenceLengthType : int64_t { kPrefixSums = 0, kLengths = 1 };

// The arguments that both operators have, by meaning; their names differ.
struct CompressionArgs {
  Argument tokens;        // [T, N, D]
  Argument weight;        // [L, N]
  Argument compressed;    // [J, N, D]: the output, or its gradient
  ArrayArgument lengths;  // not given or empty: batches of equal length, whose number follows from J
  int64_t block_size;
  int64_t stride;
  int64_t length_type;
  TextArgument layout;

  bool has_lengths() const { return lengths.is_given() && !lengths.values->empty(); }
};

CompressionSizes sizes_of(const CompressionArgs& args, size_t sequences);

// Returns the memory traffic of processing all windows. Overlapping windows count each token once per window.
double work_bytes(const CompressionArgs& args);

// Checks that L is at least 1 and weight is [L, N].
Status check_block(const CompressionArgs& args);
// Checks that dims 1 and 2 of the compressed tensor are those of the tokens.
Status check_compressed_dims(const CompressionArgs& args);
// Checks the stride, the kind of lengths and the layout.
Status check_attributes(const CompressionArgs& args);
// Checks the lengths, or without them the number of batches. Returns the sequences that have windows, in
// order. Returns none if the windows have no elements and the call has no lengths.
Result<RecycledVector<Sequence>> find_sequences(const CompressionArgs& args, const PlanContext& context);
// Formats the caller's text for an error message: truncated, and without bytes that would break a line.
std::string quoted(const TextArgument& argument);

// With OPENACLNN_LIMITS=vendor, checks that the value is a multiple of 16.
Status require_vendor_multiple(const char* what, int64_t value);
// Checks the limits of OPENACLNN_LIMITS=vendor that both operators have. `tensors`: all tensors of the call.
Status check_vendor_limits(const CompressionArgs& args, std::initializer_list<const Argument*> tensors);

}  // namespace openaclnn
