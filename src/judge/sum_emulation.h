// Sums as kernels with less accuracy compute them: other orders of additions, and 16-bit accumulators.
#pragma once

#include <string>
#include <vector>

#include "judge/spacing.h"
#include "verify/sources.h"

namespace openaclnn_judge {

// Numbers with fewer digits, as matrix units read FLOAT.
struct Narrowing {
  const char* text;     // "rounded to TF32"
  const char* setting;  // what causes it
  int digits;           // that remain of the fraction
  bool truncates;

  double apply(double x) const;
};
inline constexpr Narrowing kNarrowings[] = {{"rounded to TF32", "TF32", 10, false},
                                            {"cut off to TF32", "TF32", 10, true},
                                            {"rounded to HF32", "HF32 (allow_hf32)", 11, false},
                                            {"rounded to BF16", "16-bit inputs", 7, false},
                                            {"cut off to BF16", "16-bit inputs", 7, true}};

enum class Accumulator { float32, float16, bfloat16 };
enum class Order {
  forward,
  backward,
  lanes,   // term k is added to partial sum k % lanes, and these are added in pairs
  blocks,  // neighbouring terms are added in pairs
};

struct SumOrder {
  Accumulator accumulator;
  Order order;
  int lanes;
  bool is_fused;  // products are added without a rounding in between

  bool is_narrow() const { return accumulator != Accumulator::float32; }
  double add(const std::vector<openaclnn_verify::Term>& terms) const;
  std::string text() const;
};
const std::vector<SumOrder>& sum_orders();

}  // namespace openaclnn_judge
