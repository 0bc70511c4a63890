// EmbeddingDenseBackward on the CPU: sort the positions by row, then every output row is owned by one thread, which adds the
// row's terms in ascending position. Rows with very many terms are split by columns instead.
#include "cpu/float_types.h"
#include "cpu/rows.h"
#include "ops/embedding_dense_backward/sort.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// What the summing phase needs, with the pointers resolved.
template <class In, class Out, class Word>
struct TableGradient {
  const EmbeddingBackwardPlan& plan;
  const In* grad;
  Out* out;
  SortedPositions<Word> sorted;
};

// Writes columns [columns.begin, columns.end), at most kTileColumns, of one output row from the entries [first, last).
template <class In, class Out, class Word>
void write_tile(const TableGradient<In, Out, Word>& table, int64_t row, int64_t first, int64_t last,
                cpu::Range columns, RowAccumulators& accumulators) {
  const EmbeddingBackwardPlan& plan = table.plan;
  const int64_t terms = last - first;
  const auto row_start = [&](int64_t k) {
    const int64_t position = static_cast<int64_t>(table.sorted.entries[first + k].position);
    return table.grad + RunCursor<1>(plan.grad_row_nest, position).offset(0) +
           columns.begin * plan.grad_column_stride;
  };
  const F32 scale(plan.scale_by_frequency && terms > 0 ? 1.0f / static_cast<float>(terms) : 1.0f);
  Out* const target = table.out + row * plan.out_row_stride + columns.begin * plan.out_column_stride;
  sum_strided_rows<In>(terms, row_start, plan.grad_column_stride, columns.end - columns.begin, accumulators,
                       scale, target, plan.out_column_stride);
}

template <class In, class Out, class Word>
void write_row(const TableGradient<In, Out, Word>& table, int64_t row, int64_t first, int64_t last,
               cpu::Range columns, RowAccumulators& accumulators) {
  for (int64_t begin = columns.begin; begin < columns.end; begin += kTileColumns) {
    const int64_t end = begin + kTileColumns < columns.end ? begin + kTileColumns : columns.end;
    write_tile(table, row, first, last, {begin, end}, accumulators);
  }
}

// The first row of chunk `chunk` when rows and their terms together are cut into equal parts.
template <class Word>
int64_t first_row_of_chunk(const SortedPositions<Word>& sorted, int64_t table_rows, int64_t chunks,
                           int64_t chunk) {
  const int64_t target = cpu::chunk_range(table_rows + sorted.count, chunks, chunk, 1).begin;
  int64_t low = 0;
  int64_t high = table_rows;
  while (low < high) {  // the smallest row with row + terms before it >= target
    const int64_t middle = low + (high - low) / 2;
    if (middle + first_entry_of(sorted, middle) < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class In, class Out, class Word>
void write_table(const TableGradient<In, Out, Word>& table, int64_t* hot_rows) {
  const EmbeddingBackwardPlan& plan = table.plan;
  const SortedPositions<Word>& sorted = table.sorted;
  const int64_t bytes = (sorted.count * static_cast<int64_t>(sizeof(In)) +
                         plan.table_rows * static_cast<int64_t>(sizeof(Out))) *
                        plan.columns;
  const int64_t most_chunks = kMostHotRows / 4;
  const int64_t wanted = cpu::chunks_for(bytes);
  const int64_t chunks = wanted < most_chunks ? wanted : most_chunks;
  // A row with more terms than half a chunk's share is hot: there are fewer than 2 * chunks of them, and their columns are
  // distributed instead.
  const int64_t share = (plan.table_rows + sorted.count) / (2 * chunks);
  const int64_t most_terms = chunks > 1 && share > kChunkTerms ? share
                             : chunks > 1                      ? kChunkTerms
                                                               : sorted.count;
  std::atomic<int64_t> hot_count{0};
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    RowAccumulators accumulators;
    const int64_t last_row =
        chunk + 1 < chunks ? first_row_of_chunk(sorted, plan.table_rows, chunks, chunk + 1) : plan.table_rows;
    int64_t row = first_row_of_chunk(sorted, plan.table_rows, chunks, chunk);
    int64_t entry = first_entry_of(sorted, row);
    for (; row < last_row; ++row) {
      int64_t end = entry;
      while (end < sorted.count && static_cast<int64_t>(sorted.entries[end].row) == row) ++end;
      if (end - entry > most_terms) {
        const int64_t slot = hot_count.fetch_add(1, std::memory_order_relaxed);
        if (slot < kMostHotRows) {
          hot_rows[slot] = row;
          entry = end;
          continue;
        }
      }
      write_row(table, row, entry, end, {0, plan.columns}, accumulators);
      entry = end;
    }
  });

  const int64_t hot = hot_count.load() < kMostHotRows ? hot_count.load() : kMostHotRows;
  if (hot == 0) return;
  constexpr int64_t kHotColumns =
      64;  // four cache lines of fp32: wide enough to stream, narrow enough to share
  const int64_t column_chunks = plan.columns / kHotColumns > 1 ? plan.columns / kHotColumns : 1;
  cpu::parallel_for(hot * column_chunks, [&](int64_t item) {
    RowAccumulators accumulators;
    const int64_t row = hot_rows[item / column_chunks];
    const cpu::Range columns =
        cpu::chunk_range(plan.columns, column_chunks, item % column_chunks, kHotColumns);
    write_row(table, row, first_entry_of(sorted, row), first_entry_of(sorted, row + 1), columns,
              accumulators);
  });
}

template <class Word>
Fault run_with_words(const EmbeddingBackwardPlan& plan, const TaskIo& io) {
  SortedPositions<Word> sorted = {nullptr, 0};
  Fault fault;
  if (plan.positions > 0) {
    FaultScan scan;
    with_index_type(plan.index_dtype, [&](auto type) {
      using Index = decltype(type);
      const Index* const indices =
          static_cast<const Index*>(io.data[kGradIndices]) + plan.offsets[kGradIndices];
      decode_indices(plan, indices, workspace_part<Word>(io, plan.scratch.keys), scan);
      fault.count = scan.count();
      if (!fault.found()) return;
      fault.position = scan.lowest();
      show_element(indices[RunCursor<1>(plan.index_nest, fault.position).offset(0)], fault);
    });
    fault.limit = plan.table_rows;
    fault.total = plan.positions;
    fault.kind = io.check == CheckMode::strict ? kTableUntouched : kIndicesSkipped;
    if (fault.found() && io.check == CheckMode::strict) return fault;
    sorted = sort_positions<Word>(plan, io);
  }

  with_float_type(plan.grad_dtype, [&](auto grad_type) {
    with_float_type(plan.out_dtype, [&](auto out_type) {
      using In = decltype(grad_type);
      using Out = decltype(out_type);
      write_table(
          TableGradient<In, Out, Word>{
              plan, static_cast<const In*>(io.data[kGradRows]) + plan.offsets[kGradRows],
              static_cast<Out*>(io.data[kGradTable]) + plan.offsets[kGradTable], sorted},
          plan.positions > 0 ? workspace_part<int64_t>(io, plan.scratch.hot_rows) : nullptr);
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
