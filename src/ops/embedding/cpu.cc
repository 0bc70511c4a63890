// Embedding on the CPU: copies one row per index. Threads split the positions and, for few wide rows, the
// columns.
#include <algorithm>
#include <cstring>

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "cpu/caches.h"
#include "cpu/fault_counter.h"
#include "cpu/loops.h"
#include "cpu/prefetch.h"
#include "cpu/zeros.h"
#include "ops/embedding/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// Copies `count` elements of kBytes bytes, not all contiguous, bit for bit. A null source means zeros.
template <int64_t kBytes>
void copy_elements(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    char* const element = to + i * to_stride * kBytes;
    if (from != nullptr) {
      std::memcpy(element, from + i * from_stride * kBytes, kBytes);
    } else {
      std::memset(element, 0, kBytes);
    }
  }
}

// The rows of the table that one position needs: its own, and two of later positions, which may be
// prefetched. nullptr: there is no such row.
struct SourceRows {
  const char *row, *near, *far;
};

// Copies bytes with non-temporal stores. `to` is the start of a cache line and `bytes` a multiple of lines.
void stream_bytes(char* to, const SourceRows& from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  const hn::ScalableTag<uint64_t> tag;
  constexpr int64_t kStep =
      static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<uint64_t>()) * sizeof(uint64_t));
  const char* const row = from.row;  // a local copy: the stores may alias `from`
  const char* const near = from.near != nullptr ? from.near : row;
  const char* const far = from.far != nullptr ? from.far : row;
#pragma GCC unroll 4
  for (int64_t line = 0; line < bytes; line += kLine) {
    fetch(far + line);
    fetch_near(near + line);
    for (int64_t i = line; i < line + kLine; i += kStep) {
      hn::Stream(hn::LoadU(tag, reinterpret_cast<const uint64_t*>(row + i)), tag,
                 reinterpret_cast<uint64_t*>(to + i));
    }
  }
}

// How rows are copied: large outputs use non-temporal stores if their rows consist of whole cache lines.
struct RowCopy {
  const EmbeddingPlan& plan;
  bool is_dense;  // whether columns are contiguous in both tensors
  bool streams;

  // Writes zeros if there is no row.
  void operator()(char* to, const SourceRows& rows, int64_t count) const {
    const char* const from = rows.row;
    const int64_t bytes = count * plan.element_bytes;
    if (is_dense && from == nullptr) return write_zero_bytes(to, bytes, streams);
    if (is_dense && streams && is_line(reinterpret_cast<uintptr_t>(to)) && bytes % kLine == 0)
      return stream_bytes(to, rows, bytes);
    if (is_dense) return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(bytes)));
    const auto copy = [&]<int64_t kBytes>() {
      copy_elements<kBytes>(to, plan.out_column_stride, from, plan.weight_column_stride, count);
    };
    switch (plan.element_bytes) {
      case 1: return copy.template operator()<1>();
      case 2: return copy.template operator()<2>();
      case 4: return copy.template operator()<4>();
      case 8: return copy.template operator()<8>();
      default: return copy.template operator()<16>();
    }
  }

  static constexpr int64_t kLine = 64;
  static bool is_line(uintptr_t address) { return address % kLine == 0; }
};

bool in_table(const EmbeddingPlan& plan, int64_t row) {
  return static_cast<uint64_t>(row) < static_cast<uint64_t>(plan.table_rows);
}

// Calls visit(position, index, offset of the output row) for the positions of the range, in order.
template <class Index, class Visit>
void for_each_index(const EmbeddingPlan& plan, const Index* indices, cpu::Range range, const Visit& visit) {
  if (range.begin >= range.end) return;
  RunCursor<2> cursor(plan.nest, range.begin);
  for (int64_t position = range.begin; position < range.end; ++position) {
    visit(position, static_cast<int64_t>(indices[cursor.offset(0)]), cursor.offset(1));
    cursor.advance(1);
  }
}

// Reads the indices of a non-empty range from its position `distance` on. Repeats the last one.
template <class Index>
class LaterIndices {
 public:
  LaterIndices(const EmbeddingPlan& plan, const Index* indices, cpu::Range range, int64_t distance)
      : indices_(indices),
        left_(std::max<int64_t>(range.end - range.begin - 1 - distance, 0)),
        cursor_(plan.nest, std::min(range.begin + distance, range.end - 1)) {}

  int64_t next() {
    const int64_t index = static_cast<int64_t>(indices_[cursor_.offset(0)]);
    if (left_ > 0) {
      cursor_.advance(1);
      --left_;
    }
    return index;
  }

 private:
  const Index* const indices_;
  int64_t left_;  // positions after that of the cursor
  RunCursor<2> cursor_;
};

template <class Index>
Fault look_up(const EmbeddingPlan& plan, const TaskIo& io) {
  const Index* const indices = plan_tensor<const Index>(plan, io, kEmbeddingIndices);
  const char* const weight = plan_tensor_bytes(plan, io, kEmbeddingWeight, plan.element_bytes);
  char* const out = plan_tensor_bytes(plan, io, kEmbeddingOut, plan.element_bytes);

  FaultCounter scan;
  const auto fault = [&](bool nothing_written) {
    Fault found;
    found.count = scan.count();
    if (found.count == 0) return found;
    found.position = scan.lowest();
    found.value = static_cast<int64_t>(indices[RunCursor<2>(plan.nest, found.position).offset(0)]);
    found.limit = plan.table_rows;
    found.total = plan.positions;
    found.nothing_written = nothing_written;
    return found;
  };

  if (io.check == CheckMode::strict) {
    const int64_t chunks = cpu::chunks_for(plan.positions * static_cast<int64_t>(sizeof(Index)));
    cpu::parallel_for(chunks, [&](int64_t chunk) {
      FaultCounter::OfChunk faults(scan);
      for_each_index(plan, indices, cpu::chunk_range(plan.positions, chunks, chunk, 1024),
                     [&](int64_t position, int64_t row, int64_t) {
                       if (!in_table(plan, row)) faults.add(position);
                     });
    });
    if (scan.count() > 0) return fault(true);
  }

  const int64_t chunks = cpu::chunks_for(2 * plan.positions * plan.columns * plan.element_bytes);
  const int64_t row_chunks = std::min(chunks, plan.positions);
  const int64_t column_chunks = chunks / row_chunks;
  const bool is_dense = plan.out_column_stride == 1 && plan.weight_column_stride == 1;
  const int64_t out_bytes = plan.positions * plan.columns * plan.element_bytes;
  const RowCopy copy_row = {plan, is_dense, is_dense && cpu::exceeds_caches(out_bytes)};
  cpu::parallel_for(row_chunks * column_chunks, [&](int64_t chunk) {
    const cpu::Range rows = cpu::chunk_range(plan.positions, row_chunks, chunk / column_chunks, 1);
    const cpu::Range columns = cpu::chunk_range(plan.columns, column_chunks, chunk % column_chunks, 64);
    if (rows.begin >= rows.end || columns.begin >= columns.end) return;
    FaultCounter::OfChunk faults(scan);
    const auto row_start = [&](int64_t row) -> const char* {
      if (!in_table(plan, row)) return nullptr;
      const int64_t offset = row * plan.weight_row_stride + columns.begin * plan.weight_column_stride;
      return weight + offset * plan.element_bytes;
    };
    const auto copy = [&](int64_t position, const SourceRows& from, int64_t out_offset) {
      if (from.row == nullptr && columns.begin == 0) faults.add(position);
      char* const to = out + (out_offset + columns.begin * plan.out_column_stride) * plan.element_bytes;
      copy_row(to, from, columns.end - columns.begin);
    };
    if (!copy_row.streams) {
      return for_each_index(plan, indices, rows, [&](int64_t position, int64_t row, int64_t out_offset) {
        copy(position, {row_start(row), nullptr, nullptr}, out_offset);
      });
    }
    const int64_t row_bytes = (columns.end - columns.begin) * plan.element_bytes;
    LaterIndices<Index> near(plan, indices, rows, rows_before(kNearBytes, row_bytes));
    LaterIndices<Index> far(plan, indices, rows, rows_before(kFarBytes, row_bytes));
    for_each_index(plan, indices, rows, [&](int64_t position, int64_t row, int64_t out_offset) {
      copy(position, {row_start(row), row_start(near.next()), row_start(far.next())}, out_offset);
    });
    hwy::FlushStream();
  });
  return fault(false);
}

}  // namespace

Fault run_embedding(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const EmbeddingPlan*>(opaque_plan);
  return plan.index_dtype == ACL_INT32 ? look_up<int32_t>(plan, io) : look_up<int64_t>(plan, io);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
