// The windows of token compression in native sparse attention, for the operator, its gradient and the operator that keeps its
// results in a cache: the checks that they share.
#pragma once

#include <cstdint>
#include <string>

#include "ops/contract.h"
#include "ops/nsa/plan.h"

namespace openaclnn {

// What the lengths of the sequences are given as.
enum SequenceLengthType : int64_t { kPrefixSums = 0, kLengths = 1 };

// The arguments that both operators have, by what they mean; the names differ.
struct CompressionArgs {
  Argument tokens;      // [T, N, D]
  Argument weight;      // [L, N]
  Argument compressed;  // [J, N, D]: the output, or its gradient
  const char* lengths_name;
  IntArray lengths;  // NULL or empty: batches of equal length, as many as J says
  int64_t block_size;
  int64_t stride;
  int64_t length_type;
  const char* layout_name;
  const char* layout;
};

CompressionSizes sizes_of(const CompressionArgs& args, size_t sequences);

// What walking all windows costs, as memory traffic: where windows overlap, tokens are read once per window.
double work_bytes(const CompressionArgs& args);

// L is at least 1, and weight is [L, N].
Status check_block(const CompressionArgs& args);
// Dims 1 and 2 of the compressed tensor are those of the tokens.
Status check_compressed_dims(const CompressionArgs& args);
// The stride, the kind of lengths and the layout.
Status check_attributes(const CompressionArgs& args);
// Checks the lengths, or without them the number of batches, and returns the sequences that have windows, in order. None when the
// windows have no elements and the call has no lengths.
Result<RecycledVector<Sequence>> find_sequences(const CompressionArgs& args, const PlanContext& context);
// The caller's text for a sentence: cut, and without bytes that would break a line.
std::string quoted(const char* string);

// Under OPENACLNN_LIMITS=vendor the value is a multiple of 16.
Status require_vendor_multiple(const char* what, int64_t value);
// The limits of OPENACLNN_LIMITS=vendor that both have. `tensors`: all of the call.
Status check_vendor_limits(const CompressionArgs& args, std::initializer_list<const Argument*> tensors);

}  // namespace openaclnn
