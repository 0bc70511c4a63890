// EmbeddingDenseBackward: sizes. Terms per row around vectors and chunks, columns around vectors and tiles,
// tables around the digits of the sort, rows that threads share, and empty tensors.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/tests/call_cases.h"

namespace openaclnn_test {
namespace {

// Row r occurs counts[r] times; the occurrences of all rows are shuffled.
void fill_with_counts(BackwardCall& call, std::span<const int64_t> counts, Random& random) {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < counts.size(); ++row) {
    rows.insert(rows.end(), static_cast<size_t>(counts[row]), static_cast<int64_t>(row));
  }
  ASSERT_EQ(static_cast<int64_t>(rows.size()), call[kIndices].numel());
  for (size_t n = rows.size(); n > 1; --n) {
    std::swap(rows[n - 1], rows[static_cast<size_t>(random.below(static_cast<int64_t>(n)))]);
  }
  for (size_t n = 0; n < rows.size(); ++n) {
    call[kIndices].set(static_cast<int64_t>(n), static_cast<double>(rows[n]));
  }
  call.fill_grad(random);
}

int64_t sum_of(std::span<const int64_t> counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

TEST(EmbeddingBackwardSizes, OccurrencesAroundWindowsAndChunks) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const int64_t counts[] = {0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1300, 5000, 0};
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns : {1, 7, 20}) {
      for (const bool scale : {false, true}) {
        BackwardCall call(dtypes, ACL_UINT8, {sum_of(counts)}, columns,
                          {.table_rows = std::ssize(counts), .scale = scale});
        fill_with_counts(call, counts, random);
        ASSERT_TRUE(call.run_and_compare()) << dtypes << ", " << columns << " columns";
      }
    }
  }
}

TEST(EmbeddingBackwardSizes, ColumnsAroundVectorsAndTiles) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const int64_t counts[] = {0, 1, 2, 8, 9, 66};
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns :
         {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65, 127, 511, 512, 513, 1025}) {
      BackwardCall call(dtypes, ACL_INT32, {sum_of(counts)}, columns,
                        {.table_rows = std::ssize(counts), .scale = columns % 3 == 0});
      fill_with_counts(call, counts, random);
      ASSERT_TRUE(call.run_and_compare()) << dtypes << ", " << columns << " columns";
    }
  }
}

// Every size ends at an inaccessible page, and starts at one.
TEST(EmbeddingBackwardSizes, SmallCallsTouchNothingElse) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const Placement placement : {Placement::ends_at_guard, Placement::starts_at_guard}) {
    for (const DtypePair& dtypes : dtype_pairs()) {
      for (int64_t columns = 1; columns <= 18; ++columns) {
        for (const int64_t positions : {1, 2, 5, 11}) {
          BackwardCall call(dtypes, ACL_INT16, {positions}, columns, {.table_rows = 3}, {}, placement);
          call.fill(random);
          ASSERT_TRUE(call.run_and_compare({.workspace = placement}))
              << dtypes << ", " << columns << " columns";
        }
      }
    }
  }
}

// One pass of the sort up to 2^11 rows, two up to 2^22, three beyond.
TEST(EmbeddingBackwardSizes, TablesAroundTheDigitsOfTheSort) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const int64_t rows : {1, 2, 3, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4097, 65536, 65537}) {
    for (const int64_t positions : {1, 900, 20000}) {
      for (const int64_t columns : {2, 5}) {
        BackwardCall call({ACL_FLOAT, ACL_BF16}, ACL_INT64, {positions}, columns, {.table_rows = rows});
        call.fill(random);
        call[kIndices].set(positions - 1, static_cast<double>(rows - 1));
        ASSERT_TRUE(call.run_and_compare()) << rows << " rows, " << positions << " positions";
      }
    }
  }
}

TEST(EmbeddingBackwardSizes, TablesOfMillionsOfRows) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  constexpr int64_t kDigits = int64_t{1} << 22;
  for (const int64_t rows : {kDigits, kDigits + 1, kDigits + 70000}) {
    BackwardCall call({ACL_BF16, ACL_FLOAT16}, ACL_INT32, {30000}, 1, {.table_rows = rows, .scale = true});
    call.fill_grad(random);
    // A third anywhere, a third in few rows, and a third at the end of the table.
    for (int64_t n = 0; n < 30000; ++n) {
      const int64_t row = n % 3 == 0   ? random.below(rows)
                          : n % 3 == 1 ? 2047 + random.below(3) * 2048
                                       : rows - 1 - random.below(5000);
      call[kIndices].set(n, static_cast<double>(row));
    }
    const std::vector<std::vector<int64_t>> of_row = call.occurrences().of_row;
    ASSERT_TRUE(succeeded(call.run()));
    std::vector<float> terms;
    for (int64_t row = 0; row < rows; ++row) {
      terms.clear();
      for (const int64_t n : of_row[static_cast<size_t>(row)]) {
        terms.push_back(static_cast<float>(call[kGrad].get(n)));
      }
      ASSERT_EQ(call[kOut].bits(row), prescribed_bits(ACL_FLOAT16, terms, true))
          << "row " << row << " of " << rows;
    }
  }
}

TEST(EmbeddingBackwardSizes, ManyPositionsInSmallTables) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t rows : {1, 2, 30}) {
      for (const int64_t columns : {3, 5}) {
        BackwardCall call(dtypes, ACL_INT8, {30000}, columns,
                          {.table_rows = rows, .padding_row = 1, .scale = true});
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare()) << dtypes << ", " << rows << " rows";
      }
    }
  }
}

// Rows with so many terms that threads share their superblocks. Neighbouring rows of grad overlap in memory: row
// n starts at element n, so that the test needs little memory.
void check_hot_rows(DtypePair dtypes, int64_t positions, int64_t columns, int64_t hot_rows,
                    int64_t table_rows, bool scale) {
  Random random(test_seed());
  const BackwardAttributes attributes = {.table_rows = table_rows, .padding_row = 1, .scale = scale};
  BackwardCall call(dtypes, ACL_INT32, {positions}, 1, attributes);
  const HostTensor memory(dtypes.grad, {positions + columns - 1});
  std::vector<float> values;
  call.replace(kGrad, HostTensor(dtypes.grad, {positions, columns}, View{{1, 1}, 0}, memory, memory.data()));
  call.replace(kOut, HostTensor(dtypes.out, {table_rows, columns}));
  for (int64_t i = 0; i < memory.numel(); ++i) {
    HostTensor(memory).set(i, random.signed_magnitude(-12, 3));
    values.push_back(static_cast<float>(memory.get(i)));
  }
  // Almost all positions are in the hot rows, at the end of the table; a few are elsewhere.
  for (int64_t n = 0; n < positions; ++n) {
    const int64_t row =
        random.chance(100) ? random.below(table_rows) : table_rows - 1 - random.below(hot_rows);
    call[kIndices].set(n, static_cast<double>(row));
  }
  ASSERT_TRUE(succeeded(call.run()));
  const std::vector<std::vector<int64_t>> of_row = call.occurrences().of_row;
  std::vector<float> terms;
  for (int64_t row = 0; row < table_rows; ++row) {
    for (int64_t c = 0; c < columns; ++c) {
      terms.clear();
      for (const int64_t n : of_row[static_cast<size_t>(row)])
        terms.push_back(values[static_cast<size_t>(n + c)]);
      ASSERT_EQ(call[kOut].bits(row * columns + c), prescribed_bits(dtypes.out, terms, scale))
          << dtypes << ", out[" << row << ", " << c << "]";
    }
  }
}

TEST(EmbeddingBackwardHotRows, OneRowGetsEverything) {
  check_hot_rows(kFloats, 20000, 3000, 1, 1, false);
  check_hot_rows({ACL_BF16, ACL_BF16}, 6000, 3001, 1, 1, true);
}

TEST(EmbeddingBackwardHotRows, SomeRowsAmongMany) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns : {1, 63, 130}) check_hot_rows(dtypes, 12000, columns, 3, 40, columns != 63);
  }
}

// The sums of superblocks are joined in pieces of columns, and written with the strides of the table. The second
// width has two tiles.
TEST(EmbeddingBackwardHotRows, HaveAnyLayout) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const Layout layout : kOutputLayouts) {
    for (const int64_t columns : {70, 4100}) {
      const std::vector<int64_t> counts = {600, 0, 1100};
      BackwardCall call({ACL_FLOAT16, ACL_BF16}, ACL_INT64, {sum_of(counts)}, columns,
                        {.table_rows = std::ssize(counts), .scale = true},
                        {.grad = kInputLayouts[random.below(std::size(kInputLayouts))], .out = layout});
      fill_with_counts(call, counts, random);
      ASSERT_TRUE(call.run_and_compare()) << columns << " columns, out " << layout_name(layout);
    }
  }
}

// Slightly more and slightly fewer terms than the number from which a row counts as hot: 512 if rows are few.
TEST(EmbeddingBackwardHotRows, AroundTheirSmallestSize) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const size_t rows : {3, 12}) {
    for (const int64_t most : {511, 512, 513, 600}) {
      const std::vector<int64_t> counts(rows, most);
      BackwardCall call(kFloats, ACL_UINT8, {sum_of(counts)}, 129, {.table_rows = std::ssize(counts)});
      fill_with_counts(call, counts, random);
      ASSERT_TRUE(call.run_and_compare()) << most << " terms in each of " << rows << " rows";
    }
  }
}

// ---- Nothing, or only zeros ----

TEST(EmbeddingBackwardEmpty, NoPositionsGiveZeros) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const Layout layout : kOutputLayouts) {
      for (const Shape& index_dims : {Shape{0}, Shape{3, 0}, Shape{0, int64_t{1} << 62, int64_t{1} << 62}}) {
        BackwardCall call(dtypes, ACL_INT64, index_dims, 37, {.table_rows = 200, .scale = true},
                          {.out = layout});
        // Neither grad nor indices has an element, so neither needs an address.
        call.replace(kGrad,
                     HostTensor(dtypes.grad, call[kGrad].dims(), call[kGrad].view(), call[kGrad], nullptr));
        call.replace(kIndices,
                     HostTensor(ACL_INT64, index_dims, call[kIndices].view(), call[kIndices], nullptr));
        const Outcome outcome = call.run();
        ASSERT_TRUE(succeeded(outcome)) << dtypes << ", " << layout_name(layout);
        EXPECT_EQ(outcome.workspace_bytes, 0u);
        EXPECT_TRUE(call[kOut].gaps_intact());
        EXPECT_TRUE(call.has_bits(kOut, std::vector<uint64_t>(200 * 37)));
      }
    }
  }
}

// Runs phase 1 with these shapes, then phase 2 without memory.
Outcome run_without_memory(const Shape& grad, const Shape& indices, const Shape& out,
                           aclDataType index_dtype) {
  const auto nowhere = [](aclDataType dtype, const Shape& dims) {
    const HostTensor memory(dtype, {1});
    return HostTensor(dtype, dims, make_view(Layout::contiguous, dims), memory, nullptr);
  };
  const HostTensor tensors[] = {nowhere(ACL_FLOAT, grad), nowhere(index_dtype, indices),
                                nowhere(ACL_BF16, out)};
  const HostTensor* const pointers[] = {&tensors[0], &tensors[1], &tensors[2]};
  return run_operator(pointers, backward_phase1({.table_rows = out[0]}), aclnnEmbeddingDenseBackward);
}

TEST(EmbeddingBackwardEmpty, EmptyTablesNeedNoMemory) {
  const int64_t huge = int64_t{1} << 62;
  struct Shapes {
    Shape grad, indices, out;
  };
  const Shapes all[] = {
      {{7, 0}, {7}, {5, 0}},           // D = 0
      {{7, 0}, {3, 3}, {5, 0}},        // with D = 0 any number of indices is accepted
      {{0}, {}, {5, 0}},               // a grad of rank 1
      {{huge, huge, 0}, {4}, {5, 0}},  // its leading dims may exceed int64
      {{7, 0}, {7}, {huge, 0}},        // tables of any height
      {{7, 9}, {7}, {0, 9}},           // V = 0
      {{7, 0}, {7}, {0, 0}},           // both
      {{0, 9}, {0}, {0, 9}},           // and no positions
      {{0, huge}, {0}, {0, huge}},
  };
  for (const Shapes& shapes : all) {
    for (const aclDataType index_dtype : kBackwardIndexDtypes) {
      const Outcome outcome = run_without_memory(shapes.grad, shapes.indices, shapes.out, index_dtype);
      EXPECT_TRUE(succeeded(outcome)) << testing::PrintToString(shapes.grad);
      EXPECT_EQ(outcome.workspace_bytes, 0u);
    }
  }
}

// ---- Equivalent shapes ----

TEST(EmbeddingBackwardShapes, OnlyTheNumberOfIndicesMatters) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  struct Shapes {
    Shape grad, indices;
  };
  const Shapes all[] = {{{6, 4}, {2, 3}},
                        {{2, 3, 4}, {6}},
                        {{4}, {}},
                        {{4}, {1}},
                        {{1, 1, 4}, {}},
                        {{2, 1, 3, 4}, {3, 1, 2}},
                        {{2, 1, 3, 1, 2, 1, 2, 5}, {2, 2, 1, 1, 3, 1, 1, 2}}};
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const Shapes& shapes : all) {
      const int64_t columns = shapes.grad.back();
      BackwardCall call(dtypes, ACL_INT64, shapes.indices, columns, {.table_rows = 4});
      call.replace(kGrad, HostTensor(dtypes.grad, shapes.grad));
      call.fill(random);
      ASSERT_TRUE(call.run_and_compare()) << testing::PrintToString(shapes.grad);
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
