// Executes operations between the lanes of a warp.
#include "cuda/ptx/warp.h"

namespace openaclnn::ptx {

uint32_t Warp::lanes_at(int where, uint32_t of) const {
  uint32_t lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes |= static_cast<uint32_t>(pc[static_cast<size_t>(lane)] == where) << lane;
  return lanes & of;
}

uint32_t Warp::true_lanes(Register predicate) const {
  const Lanes& values = registers[static_cast<size_t>(predicate)];
  uint32_t lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) lanes |= static_cast<uint32_t>(values.of[lane] & 1) << lane;
  return lanes;
}

void Warp::move(uint32_t lanes, int to) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(lanes, lane)) pc[static_cast<size_t>(lane)] = to;
  }
}

void Warp::assign(Lanes& to, const Lanes& values, uint32_t lanes) {
  for (int lane = 0; lane < kLanes; ++lane) to.of[lane] = has(lanes, lane) ? values.of[lane] : to.of[lane];
}

void Warp::vote(const Instruction& i, const Lanes& predicates, uint32_t lanes) {
  uint32_t set = 0;
  for (int lane = 0; lane < kLanes; ++lane) set |= static_cast<uint32_t>(predicates.of[lane] & 1) << lane;
  set &= lanes;
  const uint64_t result = i.operation == Operation::ballot ? set
                          : i.operation == Operation::all  ? uint64_t{set == lanes}
                                                           : uint64_t{set != 0};
  Lanes all;
  for (uint64_t& value : all.of) value = result;
  assign(registers[static_cast<size_t>(i.to[0])], all, lanes);
}

// As in the reference of shfl.sync: the third operand holds the last lane of a segment and, eight bits
// higher, a mask of segments.
int Warp::shuffle(const Instruction& i, const Lanes& values, const Lanes& by, const Lanes& limits,
                  uint32_t lanes) {
  Lanes result = {}, in_range = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(lanes, lane)) continue;
    const int distance = static_cast<int>(by.of[lane] & 31);
    const int clamp = static_cast<int>(limits.of[lane] & 31),
              segments = static_cast<int>(limits.of[lane] >> 8 & 31);
    const int most = (lane & segments) | (clamp & ~segments), least = lane & segments;
    int from = lane;
    switch (i.operation) {
      case Operation::up: from = lane - distance; break;
      case Operation::down: from = lane + distance; break;
      case Operation::bfly: from = lane ^ distance; break;
      default: from = least | (distance & ~segments); break;
    }
    const bool is_in = i.operation == Operation::up ? from >= most : from <= most;
    if (!is_in) from = lane;
    if (!has(lanes, from)) return lane;
    result.of[lane] = values.of[from];
    in_range.of[lane] = is_in ? 1 : 0;
  }
  assign(registers[static_cast<size_t>(i.to[0])], result, lanes);
  if (i.to[1] != kNone) assign(registers[static_cast<size_t>(i.to[1])], in_range, lanes);
  return -1;
}

}  // namespace openaclnn::ptx
