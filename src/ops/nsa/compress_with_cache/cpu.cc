// NsaCompressWithCache on the CPU: reads and checks slots and pages once. Threads then share the completed
// blocks and read their tokens in memory order. Every sum has the library's order of additions (cpu/rows.h).
#include <algorithm>

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"
#include "ops/nsa/compress_with_cache/plan.h"
#include "ops/nsa/windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// The result of checking the slots and pages.
struct Found {
  Fault fault;
  int64_t jobs = 0;
};

bool is_inside(int64_t number, int64_t limit) { return number >= 0 && number < limit; }

// Reads each slot and page of the completed blocks exactly once and stores checked copies in the workspace.
// Later changes to the tensors by other threads therefore cannot cause an out-of-bounds access.
class Reader {
 public:
  Reader(const CacheCompressionPlan& plan, const TaskIo& io)
      : plan_(plan),
        slots_(plan_tensor<const int32_t>(plan, io, kCacheSlots)),
        jobs_(workspace_part<CacheJob>(io, plan.jobs)),
        pages_(workspace_part<int32_t>(io, plan.block_pages)) {
    if (plan.is_paged) {
      table_ = plan_tensor<const int32_t>(plan, io, kCacheTable);
    }
  }

  Found read() {
    Found found;
    found.fault.total = plan_.blocks;
    for (int64_t block = 0; block < plan_.blocks; ++block) {
      const CompletedBlock& completed = plan_items<CompletedBlock>(plan_)[block];
      const int64_t slot = slots_[completed.sequence * plan_.slot_stride];
      if (!is_inside(slot, plan_.slots)) {
        add_fault(found.fault, kSlotOutOfRange, completed.sequence, slot, plan_.slots);
      } else if (read_pages(block, completed, found.fault)) {
        jobs_[found.jobs++] = {slot, block};
      }
    }
    found.jobs = keep_last_of_slots(found.jobs);
    return found;
  }

 private:
  static void add_fault(Fault& fault, CacheFaultKind kind, int64_t position, int64_t value, int64_t limit) {
    if (fault.count++ > 0) return;
    fault.kind = kind;
    fault.position = position;
    fault.value = value;
    fault.limit = limit;
  }

  bool read_pages(int64_t block, const CompletedBlock& completed, Fault& fault) {
    int32_t* const pages = pages_ + block * plan_.pages_of_block;
    if (!plan_.is_paged) {
      pages[0] = 0;
      return true;
    }
    const int64_t used = (completed.first_in_page + plan_.block_size - 1) / plan_.page_tokens + 1;
    for (int64_t k = 0; k < used; ++k) {
      const int64_t column = completed.first_page + k;
      const int32_t page =
          table_[completed.sequence * plan_.table_strides[0] + column * plan_.table_strides[1]];
      if (!is_inside(page, plan_.pages)) {
        const int64_t position = completed.sequence * plan_.table_pages + column;
        add_fault(fault, kPageOutOfRange, position, page, plan_.pages);
        return false;
      }
      pages[k] = page;
    }
    return true;
  }

  // If several blocks have the same slot, only the last is kept, as if they were compressed in sequence.
  // Threads then never write the same slot.
  int64_t keep_last_of_slots(int64_t count) {
    std::sort(jobs_, jobs_ + count, [](const CacheJob& a, const CacheJob& b) {
      return a.slot != b.slot ? a.slot < b.slot : a.block < b.block;
    });
    int64_t kept = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (k + 1 < count && jobs_[k + 1].slot == jobs_[k].slot) continue;
      jobs_[kept++] = jobs_[k];
    }
    return kept;
  }

  const CacheCompressionPlan& plan_;
  const int32_t* const slots_;
  const int32_t* table_ = nullptr;
  CacheJob* const jobs_;
  int32_t* const pages_;
};

// Iterates over the start of each token of some jobs in input, in elements. After the last token it stays
// there.
class Walk {
 public:
  Walk(const CacheCompressionPlan& plan, const CacheJob* jobs, const int32_t* pages, cpu::Range range)
      : plan_(plan), jobs_(jobs), pages_(pages), job_(range.begin), end_(range.end) {}

  int64_t next() {
    if (left_ == 0) {
      if (job_ == end_) return token_;
      open(jobs_[job_++].block);
    }
    --left_;
    token_ = *page_ * plan_.input_strides[0] + in_page_ * plan_.input_strides[1];
    if (++in_page_ == plan_.page_tokens) {
      in_page_ = 0;
      ++page_;
    }
    return token_;
  }

 private:
  void open(int64_t block) {
    page_ = pages_ + block * plan_.pages_of_block;
    in_page_ = plan_items<CompletedBlock>(plan_)[block].first_in_page;
    left_ = plan_.block_size;
  }

  const CacheCompressionPlan& plan_;
  const CacheJob* const jobs_;
  const int32_t* const pages_;
  int64_t job_, end_;
  int64_t token_ = 0;
  int64_t left_ = 0;  // remaining tokens of the current block
  const int32_t* page_ = nullptr;
  int64_t in_page_ = 0;
};

// Narrow rows are processed in groups, which saves loads and stores of accumulators. Wide rows are processed
// one by one, because memory is fastest when read in one stream.
constexpr int kTogether = 4;
constexpr int64_t kNarrowBytes = 1024;

Tiles tiles_of(const CacheCompressionPlan& plan) {
  const int64_t columns_each = tile_columns(plan.columns);
  const int64_t heads_each = std::clamp<int64_t>(kTileColumns / slots_for(columns_each), 1, plan.heads);
  return {plan.heads, plan.columns, heads_each, columns_each};
}

template <class T>
class Compression {
 public:
  Compression(const CacheCompressionPlan& plan, const TaskIo& io)
      : plan_(plan),
        in_(plan.input_strides),
        out_(plan.output_strides),
        input_(plan_tensor<const T>(plan, io, kCacheInput)),
        output_(plan_tensor<T>(plan, io, kCacheOutput)),
        weights_(workspace_part<float>(io, plan.weights)),
        jobs_(workspace_part<CacheJob>(io, plan.jobs)),
        pages_(workspace_part<int32_t>(io, plan.block_pages)),
        tiles_(tiles_of(plan)),
        reads_in_pairs_(in_[3] == 1 && tiles_.have_pairs()) {
    widen_weights(plan.block_size, plan.heads, plan_tensor<const T>(plan, io, kCacheWeight),
                  plan.weight_strides, weights_);
  }

  void run(int64_t jobs) const {
    const int64_t parts = tiles_.count() * jobs;
    const int64_t bytes =
        jobs * plan_.block_size * plan_.heads * plan_.columns * static_cast<int64_t>(sizeof(T));
    const int64_t chunks = std::min(cpu::chunks_for(bytes), parts);
    cpu::parallel_for(chunks, [&](int64_t chunk) {
      cpu::Range range = cpu::chunk_range(parts, chunks, chunk, 1);
      RowAccumulators& accumulators = cpu::scratch_as<RowAccumulators>();
      while (range.begin < range.end) {
        const int64_t tile = range.begin / jobs;
        const int64_t end = std::min(range.end, (tile + 1) * jobs);
        compress(tiles_[tile], {range.begin - tile * jobs, end - tile * jobs}, accumulators);
        range.begin = end;
      }
    });
  }

 private:
  // Compresses a tile of the blocks of some jobs.
  void compress(const Tile& tile, cpu::Range jobs, RowAccumulators& accumulators) const {
    const int64_t slots = slots_for(tile.columns);
    const bool narrow = tile.heads * tile.columns * static_cast<int64_t>(sizeof(T)) < kNarrowBytes;
    Walk tokens(plan_, jobs_, pages_, jobs);
    Walk ahead(plan_, jobs_, pages_, jobs);
    for (int64_t k = rows_ahead<T>(tile.heads * tile.columns, kBytesAhead); k > 0; --k) ahead.next();
    const auto add_terms = [&](float* term_block, int64_t begin, int64_t end) {
      int64_t i = begin;
      const auto add = [&]<int kTokens>() {
        add_tokens<kTokens>(tile, i, tokens, ahead, term_block, i == begin);
        i += kTokens;
      };
      while (narrow && i + kTogether <= end) add.template operator()<kTogether>();
      while (i < end) add.template operator()<1>();
    };
    for (int64_t job = jobs.begin; job < jobs.end; ++job) {
      const float* const sums =
          sum_term_blocks(plan_.block_size, add_terms, tile.heads * slots, accumulators);
      T* const to = output_ + jobs_[job].slot * out_[0] + tile.first_column * out_[2];
      for (int64_t h = 0; h < tile.heads; ++h) {
        write_compressed(sums + h * slots, to + (tile.first_head + h) * out_[1], out_[2], tile.columns,
                         reads_in_pairs_);
      }
    }
  }

  // Adds terms [i, i + kTokens) to the heads' sums.
  template <int kTokens>
  void add_tokens(const Tile& tile, int64_t i, Walk& tokens, Walk& ahead, float* term_block,
                  bool is_first) const {
    const T* const base = input_ + tile.first_head * in_[2] + tile.first_column * in_[3];
    const T* rows[kTokens];
    const T* rows_ahead[kTokens];
    for (int r = 0; r < kTokens; ++r) {
      rows[r] = base + tokens.next();
      rows_ahead[r] = base + ahead.next();
    }
    WindowUpdate<1, kTokens, T> update;
    update.is_first[0] = is_first;
    for (int64_t h = 0; h < tile.heads; ++h) {
      for (int r = 0; r < kTokens; ++r) {
        update.token[r] = rows[r] + h * in_[2];
        update.ahead[r] = rows_ahead[r] + h * in_[2];
        update.weight[0][r] = F32(weights_[(i + r) * plan_.heads + tile.first_head + h]);
      }
      update.accumulators[0] = term_block + h * slots_for(tile.columns);
      if (reads_in_pairs_) {
        update.add_row(tile.columns);
      } else {
        update.add_gathered_row(tile.columns, in_[3]);
      }
    }
  }

  const CacheCompressionPlan& plan_;
  const std::array<int64_t, 4> in_;   // strides: page, token, head, column
  const std::array<int64_t, 3> out_;  // slot, head, column
  const T* const input_;
  T* const output_;
  float* const weights_;
  const CacheJob* const jobs_;
  const int32_t* const pages_;
  const Tiles tiles_;
  const bool reads_in_pairs_;
};

}  // namespace

Fault run_nsa_compress_with_cache(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const CacheCompressionPlan*>(opaque_plan);
  Found found = Reader(plan, io).read();
  found.fault.nothing_written = io.check == CheckMode::strict;
  if (found.fault.found() && found.fault.nothing_written) return found.fault;
  if (found.jobs > 0)
    with_float_type(plan.dtype, [&](auto type) { Compression<decltype(type)>(plan, io).run(found.jobs); });
  return found.fault;
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
