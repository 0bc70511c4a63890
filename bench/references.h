// The reference of workloads: loads and stores of the same bytes without the operator's work. Every
// function runs it `calls` times on the team and returns the seconds.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

// `grad` is read, the states are read and written in place; all have the same size.
double run_update(Team& team, int calls, const Tensor& grad, const std::vector<const Tensor*>& states);

// `input` is read.
double run_read(Team& team, int calls, const Tensor& input);
// Also writes the first bytes of `from` to all of `to`.
double run_read_and_copy(Team& team, int calls, const Tensor& input, const Tensor& from, const Tensor& to);

// The same with arithmetic, see arithmetic.h.
double run_arithmetic_ema_adam(Team& team, int calls, const Tensor& grad,
                               const std::array<const Tensor*, 4>& states);
double run_arithmetic_sum(Team& team, int calls, aclDataType dtype, const Tensor& input);
double run_arithmetic_compress(Team& team, int calls, aclDataType dtype, int windows, const Tensor& input,
                               const Tensor& to);
double run_arithmetic_compress_grad(Team& team, int calls, aclDataType dtype, int windows,
                                    const Tensor& read_alone, const Tensor& input, const Tensor& to);

// Each row of the target is the sum of rows of the source: the terms of all rows in order, and the start of
// each row's terms.
struct RowTerms {
  std::vector<int64_t> starts, terms;
};

// Sums whole lines of rows. Rows and their terms together are split equally.
class GatherReference {
 public:
  GatherReference(RowTerms rows, const Tensor& from, const Tensor& to, int64_t row_bytes);
  double run(Team& team, int calls);  // negative: rows are not whole lines

 private:
  RowTerms rows_;
  Gather gather_;
  std::vector<int64_t> shares_;
};

}  // namespace openaclnn_bench
