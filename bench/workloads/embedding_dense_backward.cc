// EmbeddingDenseBackward: rows gathered and added, the table written; most of its rows may be zeros.
#include "ops/embedding_dense_backward/verify/cases.h"

#include "indices.h"
#include "references.h"
#include "sizes.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kGrad, openaclnn_verify::kIndices, openaclnn_verify::kOut;

// The positions of each row in ascending order: what a gradient's kernel knows after sorting.
RowTerms group_by_row(const std::vector<int64_t>& indices, int64_t table_rows) {
  RowTerms rows{std::vector<int64_t>(static_cast<size_t>(table_rows) + 1),
                std::vector<int64_t>(indices.size())};
  for (const int64_t index : indices) ++rows.starts[static_cast<size_t>(index) + 1];
  for (size_t row = 1; row < rows.starts.size(); ++row) rows.starts[row] += rows.starts[row - 1];
  std::vector<int64_t> next(rows.starts.begin(), rows.starts.end() - 1);
  for (size_t n = 0; n < indices.size(); ++n)
    rows.terms[static_cast<size_t>(next[static_cast<size_t>(indices[n])]++)] = static_cast<int64_t>(n);
  return rows;
}

class EmbeddingDenseBackward final : public Workload {
 public:
  explicit EmbeddingDenseBackward(const WorkloadDescription& d)
      : Workload(d),
        table_rows_(d.call.tensors[kOut].dims[0]),
        indices_(make_indices(d.variant, tensor(kIndices).numel(), table_rows_)),
        reference_(group_by_row(indices_, table_rows_), tensor(kGrad), tensor(kOut),
                   tensor(kOut).bytes() / table_rows_) {
    tensor(kIndices).fill_integers(indices_);
  }

  double run_reference(Team& team, int calls) override { return reference_.run(team, calls); }

 private:
  const int64_t table_rows_;
  const std::vector<int64_t> indices_;
  GatherReference reference_;
};

}  // namespace

std::vector<Entry> embedding_dense_backward_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    const auto add = [&](const char* size, const std::string& variant, int64_t positions, int64_t columns,
                         int64_t table_rows) {
      entries.push_back(entry<EmbeddingDenseBackward>(
          {"EmbeddingDenseBackward",
           type.name,
           size,
           variant,
           {{"positions", positions}, {"columns", columns}, {"table_rows", table_rows}},
           backward_case(type.dtype, type.dtype, ACL_INT64, {positions}, columns, {.table_rows = table_rows},
                         openaclnn_verify::Layout::contiguous, variant),
           "gathered reads, streaming writes"}));
    };
    const int64_t wide = type.wide();
    add("L1", "uniform", 16, 256 * wide, 16);
    add("L2", "uniform", 256, 256 * wide, 256);
    // The caches hold a table of the same kind.
    add("L2", "mostly_zero", 16, 512 * wide, 256);
    add("L2", "rows_of_4k", 64, 1024 * wide, 64);
    add("L2", "rows_of_2k", 128, 512 * wide, 128);
    add("L2", "zipf", 128, 512 * wide, 128);
    add("memory", "mostly_zero", 4096, 512 * wide, 131072);
    add("memory", "rows_of_4k", 32768, 1024 * wide, 32768);
    add("memory", "rows_of_2k", 65536, 512 * wide, 65536);
    add("memory", "zipf", 65536, 512 * wide, 65536);
    add("memory", "all_equal", 65536, 512 * wide, 65536);
    add("memory", "few_rows", 262144, 128 * wide, 256);
    add("memory", "one_column", 4194304, 1, 65536);
    for (const int64_t positions : growing_counts(100, 10'000'000))
      add(kGrowth, std::to_string(positions), positions, 128 * wide, 65536);
  }
  return entries;
}

}  // namespace openaclnn_bench
