// One running launch: its block, the block's warps, and the effect of each kind of instruction.
#pragma once

#include <string>
#include <vector>

#include "cuda/ptx/machine.h"
#include "cuda/ptx/warp.h"

namespace openaclnn::ptx {

class Execution {
 public:
  Execution(const KernelLaunch& launch, const AddressMap& memory, Counter* counter)
      : launch_(launch),
        kernel_(*launch.kernel),
        memory_(memory),
        counter_(counter),
        warps_((launch.block.count() + kLanes - 1) / kLanes) {
    for (size_t w = 0; w < warps_.size(); ++w) {
      warps_[w].number = static_cast<unsigned>(w);
      warps_[w].registers.resize(static_cast<size_t>(kernel_.registers));
    }
  }

  void run_block(uint64_t number, bool reversed);

 private:
  void begin_block(uint64_t number);
  void set_specials(Warp& warp);
  uint64_t special(Special which, const Warp& warp, unsigned lane) const;

  void run_warp(Warp& warp);
  void run_group(Warp& warp, uint32_t group, int pc, int meeting);
  void compute(Warp& warp, const Instruction& i, uint32_t active);
  void load(Warp& warp, const Instruction& i, uint32_t active);
  void store(Warp& warp, const Instruction& i, uint32_t active);
  void update_atomically(Warp& warp, const Instruction& i, uint32_t active);
  bool release_barrier();

  const Lanes& source(const Warp& warp, Register r) const {
    return r < kernel_.registers ? warp.registers[static_cast<size_t>(r)]
                                 : kernel_.constants[static_cast<size_t>(r - kernel_.registers)];
  }
  std::byte* resolve(const Warp& warp, const Instruction& i, int lane, Touch kind);
  bool meet(Warp& warp, const Instruction& i, uint32_t active, uint32_t group, int pc);
  uint32_t agreed_mask(const Warp& warp, const Instruction& i, int lane, uint32_t here) const;
  void give_results(Warp& warp, const Instruction& i, uint32_t lanes);

  [[noreturn]] void refuse(const Warp& warp, const Instruction& i, int lane, const std::string& what) const;
  [[noreturn]] void report_deadlock() const;

  const KernelLaunch& launch_;
  const Kernel& kernel_;
  const AddressMap& memory_;
  Counter* const counter_;  // nullptr: no counting
  SharedMemory shared_;
  std::vector<Warp> warps_;
  Shape block_;
  uint32_t block_time_ = 0;
};

}  // namespace openaclnn::ptx
