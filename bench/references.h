// What workloads are compared with: loads and stores of the same bytes without the operator's work. Every function does it `calls`
// times on the team and returns the seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

// `grad` is read, the states are read and written in place; all have as many bytes.
double run_update(Team& team, int calls, const Tensor& grad, const std::vector<const Tensor*>& states);

// `input` is read.
double run_read(Team& team, int calls, const Tensor& input);
// Besides, the first bytes of `from` are written to all of `to`.
double run_read_and_copy(Team& team, int calls, const Tensor& input, const Tensor& from, const Tensor& to);

// Each row of the target is the sum of rows of the source: the terms of all rows in order, and where each row's terms start.
struct RowTerms {
  std::vector<int64_t> starts, terms;
};

// Sums whole lines of rows. Rows and their terms together are shared out equally.
class GatherReference {
 public:
  GatherReference(RowTerms rows, const Tensor& from, const Tensor& to, int64_t row_bytes);
  double run(Team& team, int calls);  // negative: the rows are no whole lines

 private:
  RowTerms rows_;
  Gather gather_;
  std::vector<int64_t> shares_;
};

}  // namespace openaclnn_bench
