// The matrix type of the host-side arithmetic, and the one way this program spreads work over the
// cores.
#pragma once

#include <tbb/parallel_for.h>
#include <Eigen/Dense>
#include <algorithm>

namespace train {

// Row-major: a row is one position of the text, so a matrix has the layout of a contiguous device
// tensor.
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowVector = Eigen::Matrix<float, 1, Eigen::Dynamic, Eigen::RowMajor>;

// Rows of a block. Fixed, never derived from the number of cores: every element of a result then
// goes through the same matrix product on every machine size, and a seed gives the same losses with
// one core or sixteen.
inline constexpr Eigen::Index kBlockRows = 64;

// Calls f(first_row, row_count) for consecutive blocks of rows, in parallel. OpenBLAS itself is
// told to use one thread (main.cc): two pools on the same cores would only wait for each other.
template <class F>
void for_row_blocks(Eigen::Index rows, F f) {
  const Eigen::Index blocks = (rows + kBlockRows - 1) / kBlockRows;
  tbb::parallel_for(Eigen::Index{0}, blocks, [&](Eigen::Index block) {
    const Eigen::Index first = block * kBlockRows;
    f(first, std::min(kBlockRows, rows - first));
  });
}

}  // namespace train
