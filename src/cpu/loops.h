// Elementwise loops: any strides, cut into runs in which every operand is contiguous, so that kernels know only such runs.
#pragma once

#include <array>
#include <cstdint>

#include "base/layout.h"
#include "cpu/threads.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Walks the runs of a loop nest in order, without divisions after the first.
template <int kOperands>
class RunCursor {
 public:
  // Starts at the run that holds element `element` of the nest's order.
  RunCursor(const LoopNest<kOperands>& nest, int64_t element)
      : nest_(&nest), position_(element % nest.inner()) {
    int64_t run = element / nest.inner();
    for (int k = nest.rank - 2; k >= 0; --k) {
      index_[static_cast<size_t>(k)] = run % nest.dims[static_cast<size_t>(k)];
      run /= nest.dims[static_cast<size_t>(k)];
      for (size_t operand = 0; operand < kOperands; ++operand) {
        offsets_[operand] += index_[static_cast<size_t>(k)] * nest.strides[static_cast<size_t>(k)][operand];
      }
    }
  }

  int64_t left_in_run() const { return nest_->inner() - position_; }

  // Element offset of an operand at the current position.
  int64_t offset(size_t operand) const { return offsets_[operand] + position_ * inner_stride(operand); }
  int64_t inner_stride(size_t operand) const {
    return nest_->rank > 0 ? nest_->strides[static_cast<size_t>(nest_->rank - 1)][operand] : 1;
  }

  // Moves on by `count` <= left_in_run() elements.
  void advance(int64_t count) {
    position_ += count;
    if (position_ < nest_->inner()) return;
    position_ = 0;
    for (int k = nest_->rank - 2; k >= 0; --k) {
      const size_t dim = static_cast<size_t>(k);
      for (size_t operand = 0; operand < kOperands; ++operand)
        offsets_[operand] += nest_->strides[dim][operand];
      if (++index_[dim] < nest_->dims[dim]) return;
      for (size_t operand = 0; operand < kOperands; ++operand) {
        offsets_[operand] -= nest_->dims[dim] * nest_->strides[dim][operand];
      }
      index_[dim] = 0;
    }
  }

 private:
  const LoopNest<kOperands>* nest_;
  int64_t position_;
  std::array<int64_t, kMaxRank> index_ = {};
  std::array<int64_t, kOperands> offsets_ = {};
};

// Calls kernel(pointers, count) for the elements [range.begin, range.end) of the nest. Runs whose operands are all
// contiguous are passed in place; everything else is gathered into small blocks, and written operands scattered back. A
// block's elements are all read before any is written.
template <class T, int kOperands, class Kernel>
void for_each_run(const LoopNest<kOperands>& nest, const std::array<T*, kOperands>& base,
                  const std::array<bool, kOperands>& written, cpu::Range range, const Kernel& kernel) {
  constexpr int64_t kShortRun =
      64;  // below, gathering several runs into one block is faster than calling per run
  constexpr int64_t kBlock = 256;  // five operands of floats: 5 KiB, well inside L1
  RunCursor<kOperands> cursor(nest, range.begin);
  int64_t left = range.end - range.begin;

  if (nest.inner_is_contiguous() && (nest.inner() >= kShortRun || nest.rank <= 1)) {
    while (left > 0) {
      const int64_t count = left < cursor.left_in_run() ? left : cursor.left_in_run();
      std::array<T*, kOperands> pointers;
      for (size_t operand = 0; operand < kOperands; ++operand)
        pointers[operand] = base[operand] + cursor.offset(operand);
      kernel(pointers, count);
      cursor.advance(count);
      left -= count;
    }
    return;
  }

  T blocks[kOperands][kBlock];
  std::array<T*, kOperands> pointers;
  for (size_t operand = 0; operand < kOperands; ++operand) pointers[operand] = blocks[operand];
  // Visits `count` elements from the cursor on, run by run: visit(operand, address, stride, position in block, elements).
  const auto sweep = [&](RunCursor<kOperands> at, int64_t count, const auto& visit) {
    for (int64_t done = 0; done < count;) {
      const int64_t piece = count - done < at.left_in_run() ? count - done : at.left_in_run();
      for (size_t operand = 0; operand < kOperands; ++operand) {
        visit(operand, base[operand] + at.offset(operand), at.inner_stride(operand), done, piece);
      }
      at.advance(piece);
      done += piece;
    }
    return at;
  };
  while (left > 0) {
    const int64_t count = left < kBlock ? left : kBlock;
    const RunCursor<kOperands> next =
        sweep(cursor, count, [&](size_t operand, const T* from, int64_t stride, int64_t at, int64_t piece) {
          for (int64_t i = 0; i < piece; ++i) blocks[operand][at + i] = from[i * stride];
        });
    kernel(pointers, count);
    sweep(cursor, count, [&](size_t operand, T* to, int64_t stride, int64_t at, int64_t piece) {
      if (!written[operand]) return;
      for (int64_t i = 0; i < piece; ++i) to[i * stride] = blocks[operand][at + i];
    });
    cursor = next;
    left -= count;
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
