// Windows for the tests of the operators of this family.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/nsa/verify/windows.h"
#include "support/case_call.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

// Sequences of 5 and 4 tokens, in every equivalent form, with windows of 3 tokens at 0, 2 and 5.
inline std::vector<WindowAttributes> forms_of_five_and_four() {
  return {{3, 2, {5, 4}, 0}, {3, 2, {0, 5, 4}, 0}, {3, 2, {5, 4}, 1}, {3, 2, {0, 5, 0, 4, 0}, 1}};
}

// The window starts in sequences of many lengths.
struct WindowsOf {
  WindowAttributes windows;
  int64_t tokens;
};
inline std::vector<WindowsOf> known_windows() {
  return {{{32, 16, {0, 96, 104}, 0}, 200},
          {{32, 16, {0, 7, 53}, 0}, 60},
          {{32, 16, {7, 53}, 0}, 60},
          {{16, 16, {10, 2, 28}, 0}, 40}};
}

// Up to 8 sequences, some of them empty, with tokens after the last one; or no lengths.
inline WindowsOf random_sequences(Random& random) {
  WindowsOf made = {{random.between(1, 40), random.between(1, 60), {}, random.below(2)}, 0};
  WindowAttributes& windows = made.windows;
  for (int64_t b = random.below(8); b >= 0; --b) {
    windows.lengths.push_back(random.chance(4) ? 0 : random.between(1, 120));
    made.tokens += windows.lengths.back();
  }
  windows.pass_lengths = !random.chance(8);
  made.tokens += windows.pass_lengths ? random.below(3) * 7 : 1;
  return made;
}

// Calls try_one(windows, make(dtype, dims, windows)) for such sequences, with any numbers of heads and
// columns.
template <class Make, class Try>
void try_random_sequences(int repeats, const Make& make, const Try& try_one) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto [windows, tokens] = random_sequences(random);
    const aclDataType dtype = kFloatDtypes[random.below(3)];
    CaseCall call = make(dtype, {tokens, random.between(1, 9), random.between(1, 40)}, windows);
    SCOPED_TRACE(repeat);
    ASSERT_NO_FATAL_FAILURE(try_one(windows, call));
  }
}

// Without lengths, the sequences are the fewest of equal length that have as many windows as the tensor of
// windows. The bits of `outputs` are those of the call with these lengths. try_one(windows, call) also
// compares them with the prescribed ones.
template <class Make, class Try>
void expect_bits_of_lengths(const Make& make, const Try& try_one, const std::vector<size_t>& outputs) {
  for (const EqualBatches& batches : kEqualBatches) {
    for (const aclDataType dtype : kFloatDtypes) {
      const WindowAttributes none = batches.without_lengths();
      const Shape dims = {batches.tokens, 3, 17};
      CaseCall given = make(dtype, dims, batches.with_lengths());
      CaseCall deduced = make(dtype, dims, none);
      ASSERT_TRUE(given.run_cleanly());
      ASSERT_NO_FATAL_FAILURE(try_one(none, deduced));
      for (const size_t which : outputs) ASSERT_TRUE(deduced.has_bits(which, given[which].all_bits()));
    }
  }
}

}  // namespace openaclnn_test
