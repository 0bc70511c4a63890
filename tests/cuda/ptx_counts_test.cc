// Tests the PTX machine's counts of kernels.
#include <gtest/gtest.h>

#include <vector>

#include "cuda/ptx/counts.h"
#include "ptx_program.h"

namespace openaclnn::ptx {
namespace {

constexpr int kWarpLanes = 32;

// One instruction in which lane k reads `bytes` bytes at first + k * distance.
void read_global(Counter& counter, uint64_t first, uint64_t distance, uint64_t bytes) {
  counter.begin_instruction();
  for (uint64_t lane = 0; lane < kWarpLanes; ++lane)
    counter.touch_global(first + lane * distance, bytes, true, false);
}
void read_shared(Counter& counter, uint64_t distance, uint64_t bytes) {
  counter.begin_instruction();
  for (int lane = 0; lane < kWarpLanes; ++lane)
    counter.touch_shared(lane, static_cast<uint64_t>(lane) * distance, bytes);
}

TEST(Counts, NeighboursShareSectors) {
  Counter counter;
  read_global(counter, 4096, 4, 4);  // 128 bytes
  EXPECT_EQ(counter.finish().reads.requested, 4u);
  read_global(counter, 4096, 16, 16);  // 512 bytes, of which 128 were read before
  EXPECT_EQ(counter.finish().reads.requested, 4u + 16u);
  EXPECT_EQ(counter.finish().reads.distinct, 16u);
  EXPECT_EQ(counter.finish().writes.requested, 0u);
  EXPECT_EQ(counter.finish().instructions, 2u);
}

TEST(Counts, LanesFarApartHaveSectorsOfTheirOwn) {
  Counter counter;
  read_global(counter, 1 << 20, 32, 4);
  EXPECT_EQ(counter.finish().reads.requested, 32u);
  read_global(counter, (1 << 21) + 16, 64, 16);
  read_global(counter, (1 << 22) + 24, 64, 16);  // across a border of sectors
  EXPECT_EQ(counter.finish().reads.requested, 32u + 32u + 64u);
  EXPECT_EQ(counter.finish().reads.distinct, 32u + 32u + 64u);
}

TEST(Counts, AtomicsReadAndWrite) {
  Counter counter;
  counter.begin_instruction();
  for (int lane = 0; lane < kWarpLanes; ++lane) counter.touch_global(4096, 4, true, true);
  EXPECT_EQ(counter.finish().reads.distinct, 1u);
  EXPECT_EQ(counter.finish().writes.distinct, 1u);
}

struct BankCase {
  uint64_t distance, bytes, turns, least;
};

TEST(Counts, LanesInOneBankTakeTurns) {
  for (const BankCase c : {BankCase{4, 4, 1, 1},
                           {0, 4, 1, 1},
                           {8, 4, 2, 1},
                           {128, 4, 32, 1},
                           {132, 4, 1, 1},
                           {2, 2, 1, 1},
                           {8, 8, 2, 2},
                           {16, 16, 4, 4},
                           {32, 16, 8, 4}}) {
    Counter counter;
    read_shared(counter, c.distance, c.bytes);
    EXPECT_EQ(counter.finish().shared_turns, c.turns) << c.bytes << " bytes every " << c.distance;
    EXPECT_EQ(counter.finish().least_shared_turns, c.least) << c.bytes << " bytes every " << c.distance;
  }
}

// Two warps, of which one has half the lanes.
TEST(Counts, ARunCountsInstructionsOfWarps) {
  Module module(text_of_kernel(R"(
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d0, %r0, 4;
  add.s64 %to, %out, %d0;
  st.global.u32 [%to], %r0;
)"));
  std::vector<uint32_t> out(64 + 8);
  auto begin = reinterpret_cast<uint64_t>(out.data());
  begin += (kSectorBytes - begin % kSectorBytes) % kSectorBytes;
  KernelLaunch launch = {&module, module.find("test"), {}, {48, 1, 1}, {}};
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &begin, sizeof begin);
  Counter counter;
  run(launch, AddressMap({{begin, 64 * 4}}), Schedule::forward, &counter);
  const Counts counts = counter.finish();
  EXPECT_EQ(counts.instructions, 2u * 7u);  // the instructions above, two loads of parameters and the return
  EXPECT_EQ(counts.writes.requested, 6u);
  EXPECT_EQ(counts.writes.distinct, 6u);
  EXPECT_EQ(counts.reads.requested, 0u);
}

}  // namespace
}  // namespace openaclnn::ptx
