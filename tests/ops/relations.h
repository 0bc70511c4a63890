// Relations between the results of calls with different arguments: properties that need no reference, and
// so share none of its errors. A relation makes calls with drawn sizes and random data, and fails by
// gtest's assertions.
#pragma once

#include <gtest/gtest.h>

#include <span>

#include "support/verify.h"
#include "verify/case.h"
#include "verify/draw.h"

namespace openaclnn_test {

struct Relation {
  const char* name;
  void (*check)(Draw& draw, Random& data);
};
std::span<const Relation> exact_relations();      // bit for bit
std::span<const Relation> optimizer_relations();  // bit for bit
std::span<const Relation> adjoint_relations();    // within the promised error bounds

// The number of compared results, and of those that are meaningful. Comparing zeros proves nothing.
struct Comparisons {
  int64_t elements = 0, telling = 0;
};
Comparisons& comparisons();

inline void count_comparison(const HostTensor& tensor) {
  comparisons().elements += tensor.numel();
  comparisons().telling += count_telling(tensor);
}

inline void expect_same(const HostTensor& got, const HostTensor& wanted) {
  count_comparison(wanted);
  EXPECT_EQ(got.all_bits(), wanted.all_bits());
}

}  // namespace openaclnn_test
