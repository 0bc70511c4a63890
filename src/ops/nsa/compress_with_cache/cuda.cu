// NsaCompressWithCache on a GPU: one block of threads reads and checks slots and pages once. A thread then
// sums 16 bytes of columns of a completed block.
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "cuda/fault_scan.cuh"
#include "ops/launches.h"
#include "ops/nsa/compress_with_cache/plan.h"
#include "ops/nsa/windows_cuda.cuh"

namespace openaclnn::cuda {

namespace {

// A hash table that maps slots to blocks, with linear probing. A claim has a slot in its high bits and a
// block in its low bits. If two blocks have the same slot, the later one therefore has the larger claim.
struct Claims {
  using Claim = unsigned long long;
  static constexpr Claim kFree = ~Claim{0};
  static constexpr int kBlockBits = 33;

  Claim* table;
  int64_t count;  // a power of two

  __device__ __forceinline__ static Claim of(int64_t slot, int64_t block) {
    return static_cast<Claim>(slot) << kBlockBits | static_cast<Claim>(block);
  }
  __device__ __forceinline__ int64_t place_of(int64_t slot) const {
    // Fibonacci hashing: distributes neighbouring slots.
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
    return static_cast<int64_t>(static_cast<uint64_t>(slot) * kGolden >> 32) & (count - 1);
  }
  __device__ __forceinline__ void add(int64_t slot, int64_t block) const {
    const Claim own = of(slot, block);
    for (int64_t place = place_of(slot);; place = (place + 1) & (count - 1)) {
      const Claim found = atomicCAS(&table[place], kFree, own);
      if (found == kFree) return;
      if (found >> kBlockBits != own >> kBlockBits) continue;
      atomicMax(&table[place], own);
      return;
    }
  }
  // Requires that all claims were added.
  __device__ __forceinline__ bool is_last(int64_t slot, int64_t block) const {
    const Claim own = of(slot, block);
    int64_t place = place_of(slot);
    while (table[place] >> kBlockBits != own >> kBlockBits) place = (place + 1) & (count - 1);
    return table[place] == own;
  }
};

// The tensors of addresses, and the checked copies.
struct Addresses {
  const int32_t* slots;
  const int32_t* table;
  const CompletedBlock* completed;
  int64_t* block_slots;
  int32_t* block_pages;
  Claims claims;
};

__device__ __forceinline__ bool is_inside(int64_t number, int64_t limit) {
  return number >= 0 && number < limit;
}

// Copies the pages of a block. At the first page out of range it returns false and the fault.
__device__ __forceinline__ bool read_pages(const CacheCompressionPlan& plan, const Addresses& a,
                                           int64_t block, Fault& found) {
  const CompletedBlock& completed = a.completed[block];
  int32_t* const pages = a.block_pages + block * plan.pages_of_block;
  if (!plan.is_paged) {
    pages[0] = 0;
    return true;
  }
  const int64_t used = (completed.first_in_page + plan.block_size - 1) / plan.page_tokens + 1;
  for (int64_t k = 0; k < used; ++k) {
    const int64_t column = completed.first_page + k;
    const int32_t page = a.table[completed.sequence * plan.table_strides[0] + column * plan.table_strides[1]];
    if (!is_inside(page, plan.pages)) {
      found.kind = kPageOutOfRange;
      found.position = completed.sequence * plan.table_pages + column;
      found.value = page;
      found.limit = plan.pages;
      return false;
    }
    pages[k] = page;
  }
  return true;
}

// Runs as one block. Reads each slot and page exactly once and stores checked copies in the workspace. Later
// changes to the tensors therefore cannot cause an out-of-bounds access. Blocks that are not compressed get
// slot -1: faulty ones, those whose slot a later block has, and in strict mode all if one is faulty.
__global__ void __launch_bounds__(kThreads)
    read_addresses(const __grid_constant__ CacheCompressionPlan plan, const __grid_constant__ Addresses a,
                   bool strict, Fault* fault) {
  __shared__ FaultScan all;
  for (int64_t k = threadIdx.x; k < a.claims.count; k += kThreads) a.claims.table[k] = Claims::kFree;
  __syncthreads();
  FaultScan mine = FaultScan::none();
  Fault first = {};  // first fault of this thread
  for (int64_t block = threadIdx.x; block < plan.blocks; block += kThreads) {
    const int64_t sequence = a.completed[block].sequence;
    const int64_t slot = a.slots[sequence * plan.slot_stride];
    Fault found = {};
    bool valid = is_inside(slot, plan.slots);
    if (valid) {
      valid = read_pages(plan, a, block, found);
    } else {
      found.kind = kSlotOutOfRange;
      found.position = sequence;
      found.value = slot;
      found.limit = plan.slots;
    }
    a.block_slots[block] = valid ? slot : -1;
    if (valid) {
      a.claims.add(slot, block);
    } else {
      if (mine.count == 0) first = found;
      mine.add(block);
    }
  }
  const FaultScan joined = join_block(mine);
  if (threadIdx.x == 0) all = joined;
  __syncthreads();
  const bool nothing_written = strict && all.count > 0;
  for (int64_t block = threadIdx.x; block < plan.blocks; block += kThreads) {
    const int64_t slot = a.block_slots[block];
    if (slot >= 0 && (nothing_written || !a.claims.is_last(slot, block))) a.block_slots[block] = -1;
  }
  if (mine.count == 0 || mine.lowest != all.lowest) return;
  fault->position = first.position;
  fault->value = first.value;
  fault->limit = first.limit;
  fault->total = plan.blocks;
  fault->kind = first.kind;
  fault->nothing_written = nothing_written;
  fault->count = all.count;
}

template <class T>
struct Compression {
  CacheCompressionPlan plan;
  const CompletedBlock* completed;
  const int64_t* block_slots;
  const int32_t* block_pages;
  HeadTensor<const T> input;  // the tokens of a page
  WeightTensor<const T> weight;
  HeadTensor<T> output;
};

template <int kCount, class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    compress(const __grid_constant__ Compression<T> c) {
  const CacheCompressionPlan& plan = c.plan;
  const int64_t packs = packs_of_row<kCount>(plan.heads, plan.columns);
  for (int64_t item = thread_number(); item < plan.blocks * packs; item += thread_count()) {
    int64_t pack = 0;
    const int64_t block = divide(item, packs, pack);
    const int64_t slot = c.block_slots[block];
    if (slot < 0) continue;
    const HeadColumns columns = columns_at<kCount>(plan.columns, pack);
    const int32_t* const pages = c.block_pages + block * plan.pages_of_block;
    const int64_t first = c.completed[block].first_in_page;
    const auto token_at = [&](int64_t i) {
      int64_t in_page = 0;
      const int64_t page = divide(first + i, plan.page_tokens, in_page);
      return columns.at(c.input, in_page) + pages[page] * plan.input_strides[0];
    };
    float sum[kCount];
    sum_tokens(c.weight, columns.head, plan.block_size, token_at, sum);
    store_pack(sum, columns.at(c.output, slot));
  }
}

template <int kCount, class T>
cudaError_t launch_compress(const Compression<T>& c, cudaStream_t stream) {
  const int64_t items = c.plan.blocks * packs_of_row<kCount>(c.plan.heads, c.plan.columns);
  return launch_kernel(compress<kCount, T>, grid_of(blocks_for(items)), kThreads, 0, stream, c);
}

template <class T>
cudaError_t launch(const CacheCompressionPlan& plan, const LaunchIo& io, const Addresses& a) {
  Compression<T> c = {};
  c.plan = plan;
  c.completed = a.completed;
  c.block_slots = a.block_slots;
  c.block_pages = a.block_pages;
  const std::array<int64_t, 4>& in = plan.input_strides;
  c.input = {plan_tensor<const T>(plan, io, kCacheInput), in[1], in[2], in[3]};
  c.weight = {plan_tensor<const T>(plan, io, kCacheWeight), plan.weight_strides[0], plan.weight_strides[1]};
  c.output = head_tensor(plan_tensor<T>(plan, io, kCacheOutput), plan.output_strides);
  constexpr int kCount = kLanes<T>;
  const bool packed = can_pack<kCount>(c.input, plan.columns) && in[0] % kCount == 0 &&
                      can_pack<kCount>(c.output, plan.columns);
  return packed ? launch_compress<kCount>(c, io.stream) : launch_compress<1>(c, io.stream);
}

}  // namespace

cudaError_t launch_nsa_compress_with_cache(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const CacheCompressionPlan*>(opaque_plan);
  CompletedBlock* const completed = workspace_part<CompletedBlock>(io, plan.completed);
  Upload upload(completed, io);
  for (int64_t k = 0; k < plan.blocks; ++k) upload.append(plan_items<CompletedBlock>(plan)[k]);
  OPENACLNN_CUDA_TRY(upload.finish());

  Addresses a = {};
  a.slots = plan_tensor<const int32_t>(plan, io, kCacheSlots);
  if (plan.is_paged) a.table = plan_tensor<const int32_t>(plan, io, kCacheTable);
  a.completed = completed;
  a.block_slots = workspace_part<int64_t>(io, plan.block_slots);
  a.block_pages = workspace_part<int32_t>(io, plan.block_pages);
  a.claims = {workspace_part<Claims::Claim>(io, plan.claims), plan.claim_count};
  OPENACLNN_CUDA_TRY(launch_kernel(read_addresses, grid_of(1), kThreads, 0, io.stream, plan, a,
                                   io.check == CheckMode::strict, io.fault));
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io, a); });
}

}  // namespace openaclnn::cuda
