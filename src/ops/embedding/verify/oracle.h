// The reference for Embedding: one element at a time, by logical index, from the definition of a table
// lookup.
#pragma once

#include <cstring>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"

namespace openaclnn_verify {

// The tensors in the order of the signature.
enum EmbeddingTensor { kWeight, kIndices, kOut, kEmbeddingTensors };
inline constexpr const char* kEmbeddingNames[kEmbeddingTensors] = {"weight", "indices", "out"};

// Returns an element of an INT32 or INT64 tensor exactly.
inline int64_t index_at(const HostTensor& indices, int64_t position) {
  const uint64_t bits = indices.bits(position);
  return indices.dtype() == ACL_INT32 ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                                      : static_cast<int64_t>(bits);
}

struct EmbeddingExpected {
  std::vector<std::byte> out;  // the elements in row-major order
  int64_t wrong = 0;           // indices out of range
  int64_t first_wrong = -1;    // the lowest position of an out-of-range index
};

inline EmbeddingExpected embedding_expected(const HostTensor& weight, const HostTensor& indices) {
  const int64_t table_rows = weight.dims()[0], columns = weight.dims()[1];
  const auto bytes = static_cast<size_t>(element_bytes(weight.dtype()));
  EmbeddingExpected expected;
  expected.out.resize(static_cast<size_t>(indices.numel() * columns) * bytes);
  std::byte* next = expected.out.data();
  for (int64_t position = 0; position < indices.numel(); ++position) {
    const int64_t row = index_at(indices, position);
    const bool valid = 0 <= row && row < table_rows;
    if (!valid && expected.wrong++ == 0) expected.first_wrong = position;
    for (int64_t column = 0; column < columns; ++column, next += bytes) {
      if (valid) std::memcpy(next, weight.element(row * columns + column), bytes);
    }
  }
  return expected;
}

inline void judge_embedding(const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                            Judge& judge) {
  const HostTensor& out = after[kOut];
  const EmbeddingExpected expected = embedding_expected(before[kWeight], before[kIndices]);
  const int64_t bytes = element_bytes(out.dtype());
  OutputRecord& record = judge.output("Embedding out", out.dtype());
  for (int64_t i = 0; i < out.numel(); ++i) {
    record.expect_bytes(out.element(i), expected.out.data() + i * bytes, bytes);
  }
}

}  // namespace openaclnn_verify
