// The library's order of additions for long sums, implemented from its definition with one scalar operation
// at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace openaclnn_verify {

// Returns fl(total) of the terms: blocks of 64 terms, superblocks of 8 blocks, superblock sums in double.
// add_term(block, term) returns the sum of a block and one more term, rounded once.
template <class Term, class AddTerm>
float prescribed_sum(std::span<const Term> terms, const AddTerm& add_term) {
  double total = 0;
  while (!terms.empty()) {
    float superblock = 0;
    for (int blocks = 0; blocks < 8 && !terms.empty(); ++blocks) {
      float block = 0;
      const size_t count = std::min<size_t>(terms.size(), 64);
      for (const Term& term : terms.first(count)) block = add_term(block, term);
      superblock += block;
      terms = terms.subspan(count);
    }
    total += superblock;
  }
  return static_cast<float>(total);
}
inline float prescribed_sum(std::span<const float> terms) {
  return prescribed_sum(terms, [](float block, float term) { return block + term; });
}

// A(n): the number of rounded fp32 additions on the longest path of n >= 1 terms.
inline int64_t additions_on_path(int64_t terms) {
  return std::min<int64_t>(terms, 64) - 1 + std::min<int64_t>((terms + 63) / 64, 8) - 1;
}

}  // namespace openaclnn_verify
