// Embedding: rows gathered, rows written.
#include "ops/embedding/verify/cases.h"

#include "indices.h"
#include "references.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kIndices, openaclnn_verify::kOut, openaclnn_verify::kWeight;

// Each row of the result has one term: the row that its index names.
RowTerms one_term_each(const std::vector<int64_t>& indices) {
  RowTerms rows{{}, indices};
  for (size_t n = 0; n <= indices.size(); ++n) rows.starts.push_back(static_cast<int64_t>(n));
  return rows;
}

class Embedding final : public Workload {
 public:
  explicit Embedding(const WorkloadDescription& d)
      : Workload(d),
        indices_(make_indices(d.variant, tensor(kIndices).numel(), d.call.tensors[kWeight].dims[0])),
        reference_(one_term_each(indices_), tensor(kWeight), tensor(kOut),
                   tensor(kOut).bytes() / tensor(kIndices).numel()) {
    tensor(kIndices).fill_integers(indices_);
  }

  double run_reference(Team& team, int calls) override { return reference_.run(team, calls); }

 private:
  const std::vector<int64_t> indices_;
  GatherReference reference_;
};

}  // namespace

std::vector<Entry> embedding_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    const auto add = [&](const char* size, const char* variant, int64_t positions, int64_t floats,
                         int64_t table_rows) {
      const int64_t columns = floats * type.wide();
      entries.push_back(
          entry<Embedding>({"Embedding",
                            type.name,
                            size,
                            variant,
                            {{"positions", positions}, {"columns", columns}, {"table_rows", table_rows}},
                            embedding_case(type.dtype, ACL_INT64, table_rows, columns, {positions},
                                           openaclnn_verify::Layout::contiguous, variant),
                            "gathered reads, streaming writes"}));
    };
    add("L1", "uniform", 16, 256, 16);
    add("L2", "uniform", 256, 256, 256);
    add("memory", "rows_of_4k", 32768, 1024, 32768);
    add("memory", "rows_of_2k", 65536, 512, 65536);
  }
  return entries;
}

}  // namespace openaclnn_bench
