// The matrix type of the host-side arithmetic, and the function that distributes work over the
// cores.
#pragma once

#include <tbb/parallel_for.h>
#include <Eigen/Dense>
#include <algorithm>
#include <span>
#include <vector>

namespace train {

// Row-major: a row is one position of the text, so a matrix has the layout of a contiguous device
// tensor.
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowVector = Eigen::Matrix<float, 1, Eigen::Dynamic, Eigen::RowMajor>;

// All elements, in memory order: what is copied to and from a device tensor.
template <class Dense>
std::span<const float> elements(const Dense& dense) {
  return {dense.data(), static_cast<size_t>(dense.size())};
}
template <class Dense>
std::span<float> elements(Dense& dense) {
  return {dense.data(), static_cast<size_t>(dense.size())};
}

// Rows of a block. The number is fixed, never derived from the number of cores. Every element of a
// result then goes through the same matrix product on every machine, and a seed gives the same
// losses with one core or sixteen.
inline constexpr Eigen::Index kBlockRows = 64;

// Calls f(first, count) for consecutive blocks of 0 .. total-1, in parallel. OpenBLAS itself is told
// to use one thread (main.cc): two pools on the same cores would only wait for each other.
template <class F>
void for_blocks(Eigen::Index total, Eigen::Index block_size, F f) {
  const Eigen::Index blocks = (total + block_size - 1) / block_size;
  tbb::parallel_for(Eigen::Index{0}, blocks, [&](Eigen::Index block) {
    const Eigen::Index first = block * block_size;
    f(first, std::min(block_size, total - first));
  });
}

template <class F>
void for_row_blocks(Eigen::Index rows, F f) {
  for_blocks(rows, kBlockRows, f);
}

// Calls f(item) for every item of a vector, in parallel.
template <class Item, class F>
void for_each(const std::vector<Item>& items, F f) {
  tbb::parallel_for(size_t{0}, items.size(), [&](size_t i) { f(items[i]); });
}

}  // namespace train
