// EmbeddingDenseBackward on the CPU: sorts the positions by row. One thread owns each output row and adds the
// row's terms in ascending position. Threads share the terms of rows that have very many. Tables of a few
// columns need no sort.
#include <algorithm>
#include <atomic>

#include "base/fault_value.h"
#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "cpu/caches.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/superblocks.h"
#include "cpu/zeros.h"
#include "ops/embedding_dense_backward/direct.h"
#include "ops/embedding_dense_backward/sort.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// The rows of grad, each from one column on.
template <class In>
struct GradRows {
  const LoopNest<1>& nest;
  const In* first;

  const In* at(int64_t position) const {
    if (nest.rank <= 1) return first + position * nest.strides[0][0];
    return first + RunCursor<1>(nest, position).offset(0);
  }
};

// The terms of a sum: row k is that of sorted entry `first` + k. It isn't a lambda in TableGradient, so that sums are
// compiled once for all dtypes of the table.
template <class In>
struct SortedRows {
  GradRows<In> grad;
  SortedPositions sorted;
  int64_t first;

  const In* operator()(int64_t k) const { return grad.at(sorted.position(first + k)); }
};

// The rows of grad in the order of sorted positions, and their sums, for tables of any dtype.
template <class In>
struct TermSums {
  const EmbeddingBackwardPlan& plan;
  GradRows<In> grad;
  SortedPositions sorted;
  SuperblockSums superblocks;  // of hot rows

  // Sums the entries [first, last), at least one, tile by tile. target_of(column) returns the target of the
  // columns from `column` on.
  template <class TargetOf>
  void sum_entries(int64_t first, int64_t last, RowAccumulators& accumulators, const TargetOf& target_of,
                   int64_t target_stride) const {
    const int64_t most = tile_columns(plan.columns);
    for (int64_t begin = 0; begin < plan.columns; begin += most) {
      const GradRows<In> tile = {grad.nest, grad.first + begin * plan.grad_column_stride};
      // Prefetches the rows of the next entries while these are summed.
      const Rows rows{last - first, sorted.count - first, SortedRows<In>{tile, sorted, first}};
      sum_strided_rows<In>(rows, plan.grad_column_stride, std::min(most, plan.columns - begin), accumulators,
                           target_of(begin), target_stride);
    }
  }

  // Sums the superblock of entries [first, last) of a hot row.
  void sum_superblock(int64_t first, int64_t last, RowAccumulators& accumulators) const {
    float* const sums = superblocks.of(first, last);
    const auto target_of = [&](int64_t column) { return SumTarget<float>{sums + column, F32(1.0f), false}; };
    sum_entries(first, last, accumulators, target_of, 1);
  }
};

// The data of the summing phase, with resolved pointers.
template <class In, class Out>
struct TableGradient {
  const EmbeddingBackwardPlan& plan;
  TermSums<In> terms;
  Out* out;
  bool streams;  // whether the table is larger than the caches

  // Returns 1, or one over the number of terms of a row.
  F32 scale(int64_t count) const {
    return F32(plan.scale_by_frequency ? 1.0f / static_cast<float>(count) : 1.0f);
  }

  // Returns where columns from `column` on of the sum of a row are written.
  SumTarget<Out> target(int64_t row, int64_t count, int64_t column) const {
    return {out + row * plan.out_row_stride + column * plan.out_column_stride, scale(count), streams};
  }

  // Writes one output row from the entries [first, last), at least one.
  void write_row(int64_t row, int64_t first, int64_t last, RowAccumulators& accumulators) const {
    const auto target_of = [&](int64_t column) { return target(row, last - first, column); };
    terms.sum_entries(first, last, accumulators, target_of, plan.out_column_stride);
  }

  // Writes rows without indices.
  void write_empty_rows(int64_t first, int64_t last) const {
    if (plan.out_row_stride == plan.columns && plan.out_column_stride == 1) {
      return write_zero_bytes(out + first * plan.columns, (last - first) * plan.columns * kOutBytes, streams);
    }
    for (int64_t row = first; row < last; ++row) {
      Out* const target = out + row * plan.out_row_stride;
      for (int64_t c = 0; c < plan.columns; ++c) target[c * plan.out_column_stride] = Out();
    }
  }

  static constexpr int64_t kOutBytes = static_cast<int64_t>(sizeof(Out));
};

// Returns the first row of chunk `chunk` if rows and their terms together are divided into equal parts.
inline int64_t first_row_of_chunk(const SortedPositions& sorted, int64_t table_rows, int64_t chunks,
                                  int64_t chunk) {
  const int64_t target = cpu::chunk_range(table_rows + sorted.count, chunks, chunk, 1).begin;
  return first_where(0, table_rows, [&](int64_t row) { return row + first_entry_of(sorted, row) >= target; });
}

// Omits rows with more terms than `most_terms`, and lists them in hot_rows. Returns their number.
template <class In, class Out>
int64_t write_rows(const TableGradient<In, Out>& table, int64_t chunks, int64_t most_terms,
                   int64_t* hot_rows) {
  const SortedPositions& sorted = table.terms.sorted;
  const int64_t table_rows = table.plan.table_rows;
  std::atomic<int64_t> hot_count{0};
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    RowAccumulators& accumulators = cpu::scratch_as<RowAccumulators>();
    const int64_t last_row =
        chunk + 1 < chunks ? first_row_of_chunk(sorted, table_rows, chunks, chunk + 1) : table_rows;
    int64_t row = first_row_of_chunk(sorted, table_rows, chunks, chunk);
    int64_t entry = first_entry_of(sorted, row);
    while (row < last_row) {
      const int64_t named = entry < sorted.count ? sorted.row(entry) : table_rows;
      const int64_t next_row = std::min(named, last_row);
      if (row < next_row) table.write_empty_rows(row, next_row);
      row = next_row;
      if (row == last_row) break;
      int64_t end = entry + 1;
      while (end < sorted.count && sorted.row(end) == row) ++end;
      const bool is_hot = end - entry > most_terms;
      const int64_t slot = is_hot ? hot_count.fetch_add(1, std::memory_order_relaxed) : kMostHotRows;
      if (slot < kMostHotRows) {
        hot_rows[slot] = row;
      } else {
        table.write_row(row, entry, end, accumulators);
      }
      entry = end;
      ++row;
    }
    hwy::FlushStream();
  });
  return hot_count.load() < kMostHotRows ? hot_count.load() : kMostHotRows;
}

// The threads share the superblocks of the few rows with very many terms.
template <class In, class Out>
void write_hot_rows(const TableGradient<In, Out>& table, const int64_t* hot_rows, int64_t count) {
  const auto entries_of = [&](int64_t k) -> cpu::Range {
    return {first_entry_of(table.terms.sorted, hot_rows[k]),
            first_entry_of(table.terms.sorted, hot_rows[k] + 1)};
  };
  int64_t terms = 0, superblocks = 0;
  for (int64_t k = 0; k < count; ++k) {
    const cpu::Range entries = entries_of(k);
    terms += entries.end - entries.begin;
    superblocks += ceil_div(entries.end - entries.begin, kSuperblockTerms);
  }
  const int64_t bytes = terms * table.plan.columns * static_cast<int64_t>(sizeof(In));
  const int64_t chunks = std::min(cpu::chunks_for(bytes), superblocks);
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    RowAccumulators& accumulators = cpu::scratch_as<RowAccumulators>();
    const cpu::Range own = cpu::chunk_range(superblocks, chunks, chunk, 1);
    int64_t before = 0;  // superblocks of earlier rows
    for (int64_t k = 0; k < count && before < own.end; ++k) {
      const cpu::Range entries = entries_of(k);
      const int64_t of_row = ceil_div(entries.end - entries.begin, kSuperblockTerms);
      const int64_t last = std::min(own.end - before, of_row);
      for (int64_t n = std::max<int64_t>(own.begin - before, 0); n < last; ++n) {
        const int64_t first = entries.begin + n * kSuperblockTerms;
        table.terms.sum_superblock(first, std::min(first + kSuperblockTerms, entries.end), accumulators);
      }
      before += of_row;
    }
  });
  for_each_long_sum(count, table.plan.columns, [&](int64_t k, int64_t first, int64_t width) {
    const cpu::Range entries = entries_of(k);
    table.terms.superblocks.join(entries, first, width,
                                 table.target(hot_rows[k], entries.end - entries.begin, first),
                                 table.plan.out_column_stride);
    hwy::FlushStream();
  });
}

template <class In, class Out>
void write_table(const TableGradient<In, Out>& table, int64_t* hot_rows) {
  const EmbeddingBackwardPlan& plan = table.plan;
  const int64_t terms = table.terms.sorted.count;
  const int64_t bytes =
      (terms * static_cast<int64_t>(sizeof(In)) + plan.table_rows * table.kOutBytes) * plan.columns;
  const int64_t chunks = std::min<int64_t>(cpu::chunks_for(bytes), kMostHotRows / 4);
  // A row with more terms than half a chunk's share is hot, so there are fewer than 2 * chunks such rows.
  const int64_t share = (plan.table_rows + terms) / (2 * chunks);
  const int64_t most_terms = chunks > 1 ? std::max<int64_t>(share, kSuperblockTerms) : terms;
  const int64_t hot = write_rows(table, chunks, most_terms, hot_rows);
  if (hot > 0) write_hot_rows(table, hot_rows, hot);
}

// Every thread reads all keys and adds the terms of its own rows. With many threads this reading would
// dominate.
template <class Word, class In, class Out>
void write_table_directly(const TableGradient<In, Out>& table, const TaskIo& io) {
  constexpr int64_t kMostThreads = 8;
  const EmbeddingBackwardPlan& plan = table.plan;
  const int64_t key_bytes = plan.positions * static_cast<int64_t>(sizeof(Word));  // they fit in the workspace
  const int64_t parts = std::min<int64_t>({cpu::chunks_for(key_bytes), cpu::num_threads(), kMostThreads});
  const Word* const keys = workspace_part<Word>(io, plan.scratch.keys);
  cpu::parallel_for(parts, [&](int64_t part) {
    DirectSums<Word> sums(plan, io);
    const cpu::Range rows = cpu::chunk_range(plan.table_rows, parts, part, 1);
    for (int64_t row = rows.begin; row < rows.end; ++row) sums.clear(row);
    for_each_position_of(rows, keys, plan.positions, [&](int64_t position, int64_t row) {
      sums.add(row, table.terms.grad.at(position), plan.grad_column_stride);
    });
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t terms = sums.terms(row);
      if (terms == 0) {
        table.write_empty_rows(row, row + 1);
        continue;
      }
      const F32 scale = table.scale(terms);
      Out* const target = table.out + row * plan.out_row_stride;
      for (int64_t c = 0; c < plan.columns; ++c)
        store_first(F32(sums.total(row, c)) * scale, target + c * plan.out_column_stride, 1);
    }
  });
}

template <class Word>
Fault run_with_words(const EmbeddingBackwardPlan& plan, const TaskIo& io) {
  SortedPositions sorted;
  Fault fault;
  if (plan.positions > 0) {
    FaultCounter scan;
    with_index_type(plan.index_dtype, [&](auto type) {
      using Index = decltype(type);
      const Index* const indices = plan_tensor<const Index>(plan, io, kGradIndices);
      decode_indices(plan, indices, workspace_part<Word>(io, plan.scratch.keys), scan);
      fault.count = scan.count();
      if (!fault.found()) return;
      fault.position = scan.lowest();
      show_element(indices[RunCursor<1>(plan.index_nest, fault.position).offset(0)], fault);
    });
    fault.limit = plan.table_rows;
    fault.total = plan.positions;
    fault.nothing_written = io.check == CheckMode::strict;
    if (fault.found() && fault.nothing_written) return fault;
    if (!plan.scratch.direct) sorted = sort_positions<Word>(plan, io);
  }

  with_float_type(plan.grad_dtype, [&](auto grad_type) {
    with_float_type(plan.out_dtype, [&](auto out_type) {
      using In = decltype(grad_type);
      using Out = decltype(out_type);
      const SuperblockSums superblocks = {workspace_part<float>(io, plan.scratch.superblock_sums),
                                          plan.columns};
      const GradRows<In> grad = {plan.grad_row_nest, plan_tensor<const In>(plan, io, kGradRows)};
      const TableGradient<In, Out> table{
          plan,
          {plan, grad, sorted, superblocks},
          plan_tensor<Out>(plan, io, kGradTable),
          cpu::exceeds_caches(plan.table_rows * plan.columns * static_cast<int64_t>(sizeof(Out)))};
      if (plan.scratch.direct) return write_table_directly<Word>(table, io);
      write_table(table, plan.positions > 0 ? workspace_part<int64_t>(io, plan.scratch.hot_rows) : nullptr);
    });
  });
  return fault;
}

}  // namespace

Fault run_embedding_dense_backward(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const EmbeddingBackwardPlan*>(opaque_plan);
  return plan.scratch.wide ? run_with_words<uint64_t>(plan, io) : run_with_words<uint32_t>(plan, io);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
