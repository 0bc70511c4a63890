// Elementwise loops over any strides, divided into runs that are contiguous in every operand. Kernels only
// receive such runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/loop_nest.h"
#include "cpu/threads.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Visits the runs of a loop nest in order, without divisions after the first.
template <int kOperands>
class RunCursor {
 public:
  // Starts at the run that contains element `element` in the nest's order.
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

  // Advances by `count` <= left_in_run() elements.
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

// Runs shorter than this are gathered into one buffer, several at a time, which is faster than a call for each.
inline constexpr int64_t kShortRun = 64;

// Calls visit(cursor, elements before it, elements) for each run of the next `count` elements. Returns the
// cursor after them.
template <int kOperands, class Visit>
RunCursor<kOperands> for_each_piece(RunCursor<kOperands> at, int64_t count, const Visit& visit) {
  for (int64_t done = 0; done < count;) {
    const int64_t piece = std::min(count - done, at.left_in_run());
    visit(at, done, piece);
    at.advance(piece);
    done += piece;
  }
  return at;
}

// The operands of a loop, with a small buffer for each. The buffers hold elements of views whose runs are too
// short to be passed in place.
template <class... Ts>
class Operands {
 public:
  static constexpr int64_t kBlock = 256;  // five operands of floats: 5 KiB, well inside L1
  using Cursor = RunCursor<sizeof...(Ts)>;

  explicit Operands(Ts*... base) : base_(base...) {}

  // Copies `count` <= kBlock elements from the cursor on into the buffers; returns the cursor after them.
  Cursor gather(Cursor from, int64_t count) {
    return sweep(from, count, [this](auto operand, const Cursor& at, int64_t done, int64_t piece) {
      const auto* const source = std::get<operand>(base_) + at.offset(operand);
      const int64_t stride = at.inner_stride(operand);
      auto* const to = std::get<operand>(blocks_).elements + done;
      for (int64_t i = 0; i < piece; ++i) to[i] = source[i * stride];
    });
  }
  void scatter(Cursor to, int64_t count, const std::array<bool, sizeof...(Ts)>& written) {
    sweep(to, count, [&](auto operand, const Cursor& at, int64_t done, int64_t piece) {
      if constexpr (!std::is_const_v<std::tuple_element_t<operand, std::tuple<Ts...>>>) {
        if (!written[operand]) return;
        auto* const target = std::get<operand>(base_) + at.offset(operand);
        const int64_t stride = at.inner_stride(operand);
        const auto* const from = std::get<operand>(blocks_).elements + done;
        for (int64_t i = 0; i < piece; ++i) target[i * stride] = from[i];
      }
    });
  }

  // Calls kernel(count, pointer to the first element of each operand…).
  template <class Kernel>
  void in_place(const Kernel& kernel, const Cursor& at, int64_t count) const {
    [&]<size_t... k>(std::index_sequence<k...>) { kernel(count, std::get<k>(base_) + at.offset(k)...); }
    (std::index_sequence_for<Ts...>());
  }
  template <class Kernel>
  void in_block(const Kernel& kernel, int64_t count) {
    [&]<size_t... k>(std::index_sequence<k...>) {
      kernel(count, static_cast<Ts*>(std::get<k>(blocks_).elements)...);
    }
    (std::index_sequence_for<Ts...>());
  }

 private:
  template <class T>
  struct Block {
    Block() {}  // uninitialised: every element is written before it is read
    std::remove_const_t<T> elements[kBlock];
  };

  // Calls visit(operand, cursor, position in block, elements) for the runs of every operand.
  template <class Visit>
  static Cursor sweep(const Cursor& from, int64_t count, const Visit& visit) {
    return for_each_piece(from, count, [&](const Cursor& at, int64_t done, int64_t piece) {
      [&]<size_t... k>(std::index_sequence<k...>) {
        (visit(std::integral_constant<size_t, k>(), at, done, piece), ...);
      }
      (std::index_sequence_for<Ts...>());
    });
  }

  std::tuple<Ts*...> base_;
  std::tuple<Block<Ts>...> blocks_;
};

// Calls kernel(count, run…), with a pointer for each operand, for the elements [range.begin, range.end) of
// the nest. `base` holds the addresses of element 0 of each operand. Runs that are contiguous in all operands
// are passed in place. All others are gathered into small buffers, and written operands are scattered back.
// All elements of a buffer are read before any is written. Operands of const elements are never written.
template <class Kernel, class... Ts>
void for_each_run_of(const LoopNest<sizeof...(Ts)>& nest, const std::array<bool, sizeof...(Ts)>& written,
                     cpu::Range range, const Kernel& kernel, Ts*... base) {
  Operands<Ts...> operands(base...);
  RunCursor<sizeof...(Ts)> cursor(nest, range.begin);
  int64_t left = range.end - range.begin;

  if (nest.inner_is_contiguous() && (nest.inner() >= kShortRun || nest.rank <= 1)) {
    while (left > 0) {
      const int64_t count = std::min(left, cursor.left_in_run());
      operands.in_place(kernel, cursor, count);
      cursor.advance(count);
      left -= count;
    }
    return;
  }

  while (left > 0) {
    const int64_t count = std::min<int64_t>(left, operands.kBlock);
    const RunCursor<sizeof...(Ts)> next = operands.gather(cursor, count);
    operands.in_block(kernel, count);
    operands.scatter(cursor, count, written);
    cursor = next;
    left -= count;
  }
}

// The same for operands of one type: calls kernel(pointers, count).
template <class T, int kOperands, class Kernel>
void for_each_run(const LoopNest<kOperands>& nest, const std::array<T*, kOperands>& base,
                  const std::array<bool, kOperands>& written, cpu::Range range, const Kernel& kernel) {
  std::apply(
      [&](auto*... first) {
        for_each_run_of(
            nest, written, range,
            [&](int64_t count, auto*... run) { kernel(std::array<T*, kOperands>{run...}, count); }, first...);
      },
      base);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
