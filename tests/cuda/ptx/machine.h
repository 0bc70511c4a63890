// Runs kernels of PTX on the CPU: every instruction that nvcc made, with the GPU's arithmetic, and looks at every access.
//
// The blocks of a launch run one after the other on the calling thread, the warps of a block in turns that end at barriers. The lanes of
// a warp that stand at the same instruction run it together; of those that have parted the ones furthest behind go first, until all
// are together again. The process ends with a sentence where a kernel touches memory that is not its own or not aligned, reads shared
// memory that nobody wrote, or races there; where a barrier or warp operation is not reached by all; where a kernel does not end.
// A barrier of a part of a warp orders no accesses in its eyes.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda/ptx/counts.h"
#include "cuda/ptx/memory.h"
#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

struct Shape {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct KernelLaunch {
  const Module* module;
  const Kernel* kernel;
  Shape grid, block;
  std::vector<std::byte> parameters;
  uint64_t most_steps =
      uint64_t{1} << 33;  // instructions of a warp in one block: a kernel that runs more does not end
};

// Of blocks and of the warps in a block: a race that no check knows gives other bits.
enum class Schedule { forward, reverse };

// `counter` may be nullptr.
void run(const KernelLaunch& launch, const AddressMap& memory, Schedule schedule, Counter* counter = nullptr);

// "update_all<4, float>"
std::string readable_name(const Kernel& kernel);

}  // namespace openaclnn::ptx
