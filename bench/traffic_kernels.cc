// The reference kernels for one instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "traffic.h"

namespace openaclnn_bench::OPENACLNN_ISA_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Tag = hn::ScalableTag<uint64_t>;
using Vector = hn::Vec<Tag>;

Vector load(const std::byte* from) { return hn::Load(Tag(), reinterpret_cast<const uint64_t*>(from)); }
void store(Vector value, std::byte* to) { hn::Store(value, Tag(), reinterpret_cast<uint64_t*>(to)); }
void stream(Vector value, std::byte* to) { hn::Stream(value, Tag(), reinterpret_cast<uint64_t*>(to)); }

constexpr int64_t kLine = 64;
constexpr int64_t kVectorBytes = static_cast<int64_t>(hn::MaxLanes(Tag()) * sizeof(uint64_t));

uint64_t read(const void* from, int64_t bytes) {
  const auto* const at = static_cast<const std::byte*>(from);
  Vector seen[4] = {hn::Zero(Tag()), hn::Zero(Tag()), hn::Zero(Tag()), hn::Zero(Tag())};
  int64_t i = 0;
  for (; i + 4 * kVectorBytes <= bytes; i += 4 * kVectorBytes) {
    for (int k = 0; k < 4; ++k) seen[k] = hn::Or(seen[k], load(at + i + k * kVectorBytes));
  }
  for (; i + kVectorBytes <= bytes; i += kVectorBytes) seen[0] = hn::Or(seen[0], load(at + i));
  return hn::GetLane(hn::Or(hn::Or(seen[0], seen[1]), hn::Or(seen[2], seen[3])));
}

void copy(const void* from, void* to, int64_t bytes) {
  const auto* const source = static_cast<const std::byte*>(from);
  auto* const target = static_cast<std::byte*>(to);
  for (int64_t i = 0; i < bytes; i += kVectorBytes) stream(load(source + i), target + i);
  hwy::FlushStream();
}

// The stored value is the loaded one, but the compiler cannot know that, so it keeps the store.
template <size_t kStates>
void update_states(const void* grad, void* const* states, int64_t bytes) {
  const auto* const g = static_cast<const std::byte*>(grad);
  std::byte* s[kStates];
  for (size_t k = 0; k < kStates; ++k) s[k] = static_cast<std::byte*>(states[k]);
  static volatile uint64_t zero = 0;
  const Vector nothing = hn::Set(Tag(), zero);
  for (int64_t i = 0; i < bytes; i += kVectorBytes) {
    const Vector change = hn::And(load(g + i), nothing);
    for (std::byte* state : s) store(hn::Or(load(state + i), change), state + i);
  }
}
void update(const void* grad, std::span<void* const> states, int64_t bytes) {
  states.size() == 3 ? update_states<3>(grad, states.data(), bytes)
                     : update_states<4>(grad, states.data(), bytes);
}

// The fastest known way to gather: rows of later terms are prefetched into L2 and then from there into L1, and
// each line of the target is written while the last term is read.
void gather(const Gather& work, int64_t first_row, int64_t last_row) {
  constexpr int64_t kNear = 8192, kFar = 32768;  // bytes
  const int64_t bytes = work.row_bytes;
  const int64_t last_term = work.starts[last_row];
  const auto source = [&](int64_t term) {
    return work.rows + work.positions[term < last_term ? term : last_term - 1] * bytes;
  };
  for (int64_t row = first_row; row < last_row; ++row) {
    std::byte* const to = work.target + row * work.target_row_bytes;
    const int64_t end = work.starts[row + 1];
    Vector seen = hn::Zero(Tag());
    for (int64_t term = work.starts[row]; term < end; ++term) {
      const std::byte* const from = source(term);
      const std::byte* const near = source(term + kNear / bytes + 1);
      const std::byte* const far = source(term + kFar / bytes + 1);
      const int64_t written = term + 1 == end ? std::min(bytes, work.target_row_bytes) : 0;
      for (int64_t i = 0; i < bytes; i += kLine) {
        __builtin_prefetch(far + i, 0, 2);  // for reading, into L2
        hwy::Prefetch(near + i);
        for (int64_t k = i; k < i + kLine; k += kVectorBytes) {
          seen = hn::Or(seen, load(from + k));
          if (k < written) stream(seen, to + k);
        }
      }
    }
    const int64_t written = end > work.starts[row] ? bytes : 0;
    for (int64_t i = written; i < work.target_row_bytes; i += kVectorBytes) stream(seen, to + i);
  }
  hwy::FlushStream();
}

}  // namespace

const TrafficKernels& kernels() {
  static constexpr TrafficKernels kTable = {read, copy, update, gather};
  return kTable;
}

}  // namespace openaclnn_bench::OPENACLNN_ISA_NAMESPACE
