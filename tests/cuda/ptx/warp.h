// The state of a running warp: its registers, the position of each lane, and which lanes wait for which.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

struct Warp {
  unsigned number = 0;  // number in its block
  std::vector<Lanes> registers;
  std::array<int, kLanes> pc = {};
  // Sets of lanes, one bit per lane.
  uint32_t exists = 0, exited = 0, at_barrier = 0, waiting = 0;
  uint32_t time = 0;   // barriers of the warp so far
  uint64_t steps = 0;  // instructions of the block so far

  void begin(uint32_t lanes) {
    pc.fill(0);
    exists = lanes;
    exited = at_barrier = waiting = time = 0;
    steps = 0;
  }
  bool is_done() const { return exited == exists; }
  uint32_t ready() const { return exists & ~(exited | at_barrier | waiting); }

  static bool has(uint32_t lanes, int lane) { return (lanes >> lane & 1) != 0; }
  uint32_t lanes_at(int where, uint32_t of) const;
  uint32_t true_lanes(Register predicate) const;
  void move(uint32_t lanes, int to);
  static void assign(Lanes& to, const Lanes& values, uint32_t lanes);

  void vote(const Instruction& i, const Lanes& predicates, uint32_t lanes);
  // -1, or a lane that requested the value of a lane that does not take part.
  int shuffle(const Instruction& i, const Lanes& values, const Lanes& by, const Lanes& limits,
              uint32_t lanes);
};

}  // namespace openaclnn::ptx
