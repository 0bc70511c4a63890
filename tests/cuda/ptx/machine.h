// Runs kernels of PTX on the CPU: every instruction of nvcc, with the GPU's arithmetic, and checks every
// access.
//
// The blocks of a launch run one after the other on the calling thread. The warps of a block take turns,
// which end at barriers. The lanes of a warp at the same instruction run it together. If lanes have
// diverged, those furthest behind run first, until all are together again.
// The process ends with an error message if a kernel accesses memory outside its blocks or unaligned, reads
// uninitialised shared memory, has a race there, or does not end, or if not all threads reach a barrier or
// warp operation. A barrier of part of a warp orders no accesses here.
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
  // Instructions of a warp in one block: a kernel that runs more counts as endless.
  uint64_t most_steps = uint64_t{1} << 33;
};

// Order of blocks and of the warps in a block: a race that no check finds changes bits.
enum class Schedule { forward, reverse };

// `counter` may be nullptr.
void run(const KernelLaunch& launch, const AddressMap& memory, Schedule schedule, Counter* counter = nullptr);

// "update_all<4, float>"
std::string readable_name(const Kernel& kernel);

}  // namespace openaclnn::ptx
