// Tests the emulation of CUDA's device language: communication between threads of a block and a warp, and
// its reports about kernels that no GPU would run.
#include <gtest/gtest.h>

#include <vector>

#include "cuda/kernel.cuh"

// A death test forks, and fork() takes more locks than the detector of deadlocks can count.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }

namespace openaclnn::cuda {
namespace {

constexpr int kBlocks = 5;

void run(void (*kernel)(int*), int blocks, int threads, int* out, simt::Schedule schedule) {
  simt::set_schedule(schedule);
  EXPECT_EQ(launch_kernel(kernel, grid_of(blocks), threads, 0, nullptr, out), cudaSuccess);
  simt::set_schedule(simt::Schedule::forward);
}

// Sums the numbers of the block's threads: through shared memory, backwards, then by shuffles, then through
// shared memory again.
void sum_of_block(int* out) {
  __shared__ int numbers[kThreads];
  numbers[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  int sum = numbers[kThreads - 1 - threadIdx.x];
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(kAllLanes, sum, distance);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) numbers[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = 0;
  for (int k = 0; k < kThreads / kWarp; ++k) out[blockIdx.x] += numbers[k];
}

// Values that each lane receives: from lane 3, from its neighbour above in eights, from the lane opposite,
// and which lanes are odd.
void talk_in_warp(int* out) {
  const int own = static_cast<int>(threadIdx.x);
  int* const to = out + 5 * own;
  to[0] = __shfl_sync(kAllLanes, own, 3);
  to[1] = __shfl_down_sync(kAllLanes, own, 1, 8);
  to[2] = __shfl_up_sync(kAllLanes, own, 1);
  to[3] = __shfl_xor_sync(kAllLanes, own, 31);
  to[4] = static_cast<int>(__ballot_sync(kAllLanes, own % 2 == 1));
  if (__any_sync(kAllLanes, own == 40) != 0) to[4] = -1;
  if (__all_sync(kAllLanes, own < 32) == 0) to[4] = -2;
}

void count_threads(int* out) {
  atomicAdd(&out[0], 1);
  atomicMax(&out[1], static_cast<int>(thread_number()));
  atomicMin(&out[2], -static_cast<int>(blockIdx.x));
}

void leave_others_at_a_barrier(int*) {
  if (threadIdx.x < 100) __syncthreads();
}
void meet_at_different_barriers(int*) {
  if (threadIdx.x < 100) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
void diverge_in_a_warp(int*) {
  if (threadIdx.x % kWarp < 3) {
    __syncwarp();
  } else {
    __ballot_sync(kAllLanes, true);
  }
}
void use_part_of_a_warp(int*) {
  if (threadIdx.x % kWarp < 16) __syncwarp(0xFFFF);
}

// Each thread writes its element of an array and then reads its neighbour's, with an operation in between.
enum class Between { nothing, shuffle, warp_barrier, barrier };
template <Between between>
void read_of_neighbour(int* out) {
  __shared__ int numbers[kThreads];
  const unsigned own = threadIdx.x;
  numbers[own] = static_cast<int>(own);
  if (between == Between::shuffle) __shfl_sync(kAllLanes, 0, 0);
  if (between == Between::warp_barrier) __syncwarp();
  if (between == Between::barrier) __syncthreads();
  out[own] = numbers[own ^ 1];
}

class DeviceLanguage : public testing::TestWithParam<simt::Schedule> {};

TEST_P(DeviceLanguage, BlocksShareMemoryAndBarriers) {
  std::vector<int> sums(kBlocks, -1);
  run(sum_of_block, kBlocks, kThreads, sums.data(), GetParam());
  EXPECT_EQ(sums, std::vector<int>(kBlocks, kThreads * (kThreads - 1) / 2));
}

TEST_P(DeviceLanguage, LanesTellEachOther) {
  std::vector<int> told(5 * kWarp, -1);
  run(talk_in_warp, 1, kWarp, told.data(), GetParam());
  for (int lane = 0; lane < kWarp; ++lane) {
    const int* const own = told.data() + 5 * lane;
    EXPECT_EQ(own[0], 3);
    EXPECT_EQ(own[1], lane % 8 == 7 ? lane : lane + 1);
    EXPECT_EQ(own[2], lane == 0 ? 0 : lane - 1);
    EXPECT_EQ(own[3], 31 - lane);
    EXPECT_EQ(static_cast<unsigned>(own[4]), 0xAAAAAAAAu);
  }
}

TEST_P(DeviceLanguage, AtomicsSeeEveryThread) {
  std::vector<int> counts(3, 0);
  run(count_threads, kBlocks, kThreads, counts.data(), GetParam());
  EXPECT_EQ(counts, (std::vector<int>{kBlocks * kThreads, kBlocks * kThreads - 1, 1 - kBlocks}));
}

INSTANTIATE_TEST_SUITE_P(Schedules, DeviceLanguage,
                         testing::Values(simt::Schedule::forward, simt::Schedule::reverse));

TEST(DeviceLanguageDeathTest, SaysWhatNoGpuWouldRun) {
  const auto launch = [](void (*kernel)(int*)) {
    run(kernel, 1, kThreads, nullptr, simt::Schedule::forward);
  };
  EXPECT_DEATH(launch(leave_others_at_a_barrier), "156 of 256 threads have returned; .*in __syncthreads at ");
  EXPECT_DEATH(launch(meet_at_different_barriers),
               "threads of one block wait in __syncthreads at .* and at ");
  EXPECT_DEATH(launch(diverge_in_a_warp),
               "lanes of one warp diverge: .*__syncwarp.*__ballot_sync|"
               "lanes of one warp diverge: .*__ballot_sync.*__syncwarp");
  EXPECT_DEATH(launch(use_part_of_a_warp), "a mask in __syncwarp at .* leaves out lanes");
}

TEST(DeviceLanguageDeathTest, TellsThreadSanitizerWhatOrdersMemory) {
#if !defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "this build is not watched by ThreadSanitizer";
#else
  std::vector<int> out(kThreads);
  const auto launch = [&](void (*kernel)(int*)) {
    for (const simt::Schedule schedule : {simt::Schedule::forward, simt::Schedule::reverse})
      run(kernel, 1, kThreads, out.data(), schedule);
  };
  launch(read_of_neighbour<Between::warp_barrier>);
  launch(read_of_neighbour<Between::barrier>);
  EXPECT_DEATH(launch(read_of_neighbour<Between::nothing>), "data race");
  EXPECT_DEATH(launch(read_of_neighbour<Between::shuffle>), "data race");
#endif
}

TEST(DeviceLanguageLaunch, RefusesShapesOfNoGpu) {
  int* const nothing = nullptr;
  EXPECT_EQ(launch_kernel(count_threads, grid_of(0), kThreads, 0, nullptr, nothing),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_kernel(count_threads, grid_of(1), 1025, 0, nullptr, nothing),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_kernel(count_threads, grid_of(1, 65536), 1, 0, nullptr, nothing),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_kernel(count_threads, grid_of(1), 1, 49153, nullptr, nothing),
            cudaErrorInvalidConfiguration);
}

}  // namespace
}  // namespace openaclnn::cuda
