// Embedding and its gradient: rows gathered, rows written; of a table's gradient most rows may be zeros.
#include <algorithm>
#include <cmath>
#include <random>

#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

std::vector<int64_t> make_indices(const std::string& variant, int64_t positions, int64_t table_rows) {
  std::mt19937_64 random(12345);
  std::vector<int64_t> indices(static_cast<size_t>(positions));
  if (variant == "zipf") {  // exponent 1: row k is drawn with weight 1 / (k + 1), then rows are shuffled
    std::vector<double> cumulative(static_cast<size_t>(table_rows));
    double total = 0;
    for (int64_t k = 0; k < table_rows; ++k)
      cumulative[static_cast<size_t>(k)] = total += 1.0 / static_cast<double>(k + 1);
    std::vector<int64_t> shuffled(static_cast<size_t>(table_rows));
    for (int64_t k = 0; k < table_rows; ++k) shuffled[static_cast<size_t>(k)] = k;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    std::uniform_real_distribution<double> uniform(0, total);
    for (int64_t& index : indices) {
      const auto at =
          std::upper_bound(cumulative.begin(), cumulative.end(), uniform(random)) - cumulative.begin();
      index = shuffled[static_cast<size_t>(std::min<int64_t>(at, table_rows - 1))];
    }
    return indices;
  }
  std::uniform_int_distribution<int64_t> uniform(0, table_rows - 1);
  for (int64_t& index : indices) index = variant == "all_equal" ? table_rows / 2 : uniform(random);
  return indices;
}

// The positions of each row in ascending order: what a gradient's kernel knows after sorting.
struct Grouped {
  std::vector<int64_t> starts, positions;
};
Grouped group_by_row(const std::vector<int64_t>& indices, int64_t table_rows) {
  Grouped grouped{std::vector<int64_t>(static_cast<size_t>(table_rows) + 1),
                  std::vector<int64_t>(indices.size())};
  for (int64_t index : indices) ++grouped.starts[static_cast<size_t>(index) + 1];
  for (size_t row = 1; row < grouped.starts.size(); ++row) grouped.starts[row] += grouped.starts[row - 1];
  std::vector<int64_t> next(grouped.starts.begin(), grouped.starts.end() - 1);
  for (size_t n = 0; n < indices.size(); ++n)
    grouped.positions[static_cast<size_t>(next[static_cast<size_t>(indices[n])]++)] = static_cast<int64_t>(n);
  return grouped;
}

// The first row of a thread's share, when rows and their terms together are shared out equally.
int64_t first_row(const Grouped& grouped, int thread, int threads) {
  const int64_t rows = static_cast<int64_t>(grouped.starts.size()) - 1;
  const int64_t total = rows + static_cast<int64_t>(grouped.positions.size());
  int64_t row = 0;
  while (row < rows && row + grouped.starts[static_cast<size_t>(row)] < total * thread / threads) ++row;
  return row;
}

// Indices, and the gather that has the operator's traffic.
class GatherWorkload : public Workload {
 public:
  using Workload::Workload;

  double run_reference(Team& team, int calls) override {
    constexpr int64_t kLine = 64;
    if (gather_.row_bytes % kLine != 0) return -1;  // the reference moves whole lines
    if (shares_.empty()) {
      for (int thread = 0; thread <= team.threads(); ++thread)
        shares_.push_back(first_row(grouped_, thread, team.threads()));
    }
    return team.run(calls, [&](int thread) {
      traffic_kernels().gather(gather_, shares_[static_cast<size_t>(thread)],
                               shares_[static_cast<size_t>(thread) + 1]);
    });
  }

 protected:
  void set_gather(Grouped grouped, const Tensor& from, const Tensor& to, int64_t row_bytes) {
    grouped_ = std::move(grouped);
    gather_ = {from.data(), grouped_.positions.data(), grouped_.starts.data(), to.data(), row_bytes,
               row_bytes};
  }

 private:
  Grouped grouped_;
  Gather gather_ = {};
  std::vector<int64_t> shares_;
};

enum { kSource, kIndices, kTarget };

class Embedding final : public GatherWorkload {
 public:
  explicit Embedding(const Description& d) : GatherWorkload(d) {
    tensor(kSource).fill(-1, 1);
    const Dims& weight = d.tensors[kSource].dims;
    const std::vector<int64_t> indices = make_indices(d.variant, d.tensors[kIndices].dims[0], weight[0]);
    tensor(kIndices).fill_integers(indices);
    // Each output row has one term: the row that its index names.
    Grouped grouped{{}, indices};
    for (size_t n = 0; n <= indices.size(); ++n) grouped.starts.push_back(static_cast<int64_t>(n));
    set_gather(std::move(grouped), tensor(kSource), tensor(kTarget), weight[1] * element_bytes(d.dtype));
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnEmbeddingGetWorkspaceSize(handle(kSource), handle(kIndices), handle(kTarget), bytes,
                                                executor);
        },
        aclnnEmbedding);
  }

 private:
  Caller caller_;
};

class EmbeddingDenseBackward final : public GatherWorkload {
 public:
  explicit EmbeddingDenseBackward(const Description& d) : GatherWorkload(d) {
    tensor(kSource).fill(-1, 1);
    const Dims& table = d.tensors[kTarget].dims;
    rows_ = table[0];
    const std::vector<int64_t> indices = make_indices(d.variant, d.tensors[kIndices].dims[0], rows_);
    tensor(kIndices).fill_integers(indices);
    set_gather(group_by_row(indices, rows_), tensor(kSource), tensor(kTarget),
               table[1] * element_bytes(d.dtype));
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnEmbeddingDenseBackwardGetWorkspaceSize(handle(kSource), handle(kIndices),
                                                             static_cast<uint64_t>(rows_), UINT64_MAX, false,
                                                             handle(kTarget), bytes, executor);
        },
        aclnnEmbeddingDenseBackward);
  }

 private:
  Caller caller_;
  int64_t rows_;
};

template <class Kind>
void add(std::vector<Entry>& entries, const char* op, const char* dtype, const char* size,
         const char* variant, int64_t positions, int64_t columns, int64_t table_rows) {
  const bool backward = std::is_same_v<Kind, EmbeddingDenseBackward>;
  const TensorSpec per_position = {backward ? "grad" : "out", {positions, columns}, dtype};
  const TensorSpec table = {backward ? "out" : "weight", {table_rows, columns}, dtype};
  const int64_t rows = positions + (backward ? table_rows : positions);
  Description d{
      op,
      dtype,
      size,
      variant,
      {{"positions", positions}, {"columns", columns}, {"table_rows", table_rows}},
      {backward ? per_position : table, {"indices", {positions}, "i64"}, backward ? table : per_position},
      "gathered reads, streaming writes",
      rows * columns * element_bytes(dtype)};
  entries.push_back({d, [](const Description& self) { return std::make_unique<Kind>(self); }});
}

}  // namespace

std::vector<Entry> embedding_workloads() {
  std::vector<Entry> entries;
  for (const char* dtype : kFloatTypes) {
    const int64_t wide = 4 / element_bytes(dtype);
    const auto forward = [&](const char* size, const char* variant, int64_t positions, int64_t columns,
                             int64_t rows) {
      add<Embedding>(entries, "Embedding", dtype, size, variant, positions, columns, rows);
    };
    forward("L1", "uniform", 16, 256 * wide, 16);
    forward("L2", "uniform", 256, 256 * wide, 256);
    forward("memory", "rows_of_4k", 32768, 1024 * wide, 32768);
    forward("memory", "rows_of_2k", 65536, 512 * wide, 65536);
    const auto backward = [&](const char* size, const char* variant, int64_t positions, int64_t columns,
                              int64_t rows) {
      add<EmbeddingDenseBackward>(entries, "EmbeddingDenseBackward", dtype, size, variant, positions, columns,
                                  rows);
    };
    backward("L1", "uniform", 16, 256 * wide, 16);
    backward("L2", "uniform", 256, 256 * wide, 256);
    backward("memory", "mostly_zero", 4096, 512 * wide, 131072);
    backward("memory", "rows_of_4k", 32768, 1024 * wide, 32768);
    backward("memory", "rows_of_2k", 65536, 512 * wide, 65536);
    backward("memory", "zipf", 65536, 512 * wide, 65536);
    backward("memory", "all_equal", 65536, 512 * wide, 65536);
    backward("memory", "few_rows", 262144, 128 * wide, 256);
    backward("memory", "one_column", 4194304, 1, 65536);
  }
  return entries;
}

}  // namespace openaclnn_bench
