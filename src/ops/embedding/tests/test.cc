// Embedding: values. Every dtype bit for bit, sizes around each split, and the results of out-of-range
// indices.
#include <gtest/gtest.h>

#include "ops/embedding/tests/call_cases.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

TEST(EmbeddingValues, ExampleByHand) {
  EmbeddingCall call(ACL_FLOAT, ACL_INT64, 3, 2, {2, 2});
  call[kWeight].fill({1, 2, 3, 4, 5, 6});
  call[kIndices].fill({2, 0, 0, 1});
  ASSERT_TRUE(succeeded(call.run()));
  HostTensor wanted(ACL_FLOAT, {8});
  wanted.fill({5, 6, 1, 2, 1, 2, 3, 4});
  EXPECT_EQ(call[kOut].all_bits(), wanted.all_bits());
}

TEST(EmbeddingValues, TheNamedCases) {
  for (const Case& c : embedding_cases()) {
    std::vector<HostTensor> tensors = make_tensors(c);
    EmbeddingCall call(tensors[kWeight].alias(), tensors[kIndices].alias(), tensors[kOut].alias());
    ASSERT_TRUE(call.run_and_compare()) << c.name;
  }
}

TEST(EmbeddingValues, EveryDtypeAtEverySmallWidth) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes) {
      for (int64_t columns = 0; columns <= 66; ++columns) {
        for (const Placement placement : kPlacements) {
          EmbeddingCall call(dtype, index_dtype, random.between(1, 9), columns, {random.between(1, 12)},
                             Layout::contiguous, placement);
          call.fill(random);
          ASSERT_TRUE(call.run_and_compare())
              << dtype_name(dtype) << ", index dtype " << index_dtype << ", D " << columns;
        }
      }
    }
  }
}

// The work is split by positions and, if these are few, by columns in steps of 64.
TEST(EmbeddingValues, FewWideRows) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const int64_t positions : {1, 2, 3}) {
      for (const int64_t columns : {8191, 8192, 8193, 65600, 1000003}) {
        if (columns > 65600 && dtype != ACL_FLOAT && positions != 2) continue;
        EmbeddingCall call(dtype, ACL_INT32, 2, columns, {positions});
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", " << positions << " x " << columns;
        call.set_index(positions - 1, 2);
        ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", " << positions << " x " << columns;
      }
    }
  }
}

TEST(EmbeddingValues, FewWideRowsOfStridedViews) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const Layout layout : {Layout::strided, Layout::transposed, Layout::reversed}) {
      EmbeddingCall call(dtype, ACL_INT64, 3, 70001, {2}, layout);
      call.fill(random);
      ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", " << layout_name(layout);
    }
  }
}

TEST(EmbeddingValues, ManyPositions) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const int64_t positions : {1023, 1024, 1025, 70001}) {
      for (const int64_t columns : {1, 2, 5}) {
        EmbeddingCall call(dtype, ACL_INT64, 1000, columns, {positions});
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", " << positions << " x " << columns;
      }
    }
  }
}

// Results beyond the caches bypass them, and rows of later positions are prefetched: also behind the last
// position, and behind indices that name no row.
TEST(EmbeddingValues, RowsBeyondTheCaches) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  // More than half of any cache that is taken into account.
  constexpr int64_t kElements = (int64_t{33} << 20) / 16;
  for (const int64_t columns : {4, 128, 3000}) {
    const int64_t positions = kElements / columns + 1;
    EmbeddingCall call(ACL_COMPLEX128, ACL_INT64, 300, columns, {positions});
    call.fill(random);
    ASSERT_TRUE(call.run_and_compare()) << columns << " columns";
    call.set_index(0, -1);
    for (int64_t k = 0; k < 9; ++k) call.set_index(positions / 2 + k, 300 + k);
    call.set_index(positions - 1, INT64_MAX);
    ASSERT_TRUE(call.run_and_compare()) << columns << " columns, some indices wrong";
  }
}

TEST(EmbeddingValues, EverySixteenBitPatternIsCopied) {
  Random random(test_seed());
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16, ACL_INT16}) {
    EmbeddingCall call(dtype, ACL_INT32, 4096, 16, {4096});
    for (int64_t i = 0; i < 65536; ++i) call[kWeight].set_bits(i, static_cast<uint64_t>(i));
    for (int64_t i = 0; i < 4096; ++i) call.set_index(i, 4095 - i);
    ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype;
  }
}

// Elements pass through no arithmetic: signalling NaNs stay signalling, and payloads and signs of zeros are
// kept.
TEST(EmbeddingValues, NanPayloadsAndSignedZerosAreCopied) {
  const std::vector<uint64_t> floats = {0x7f800001, 0xff800001, 0x7fc12345, 0xffc12345, 0x7fbfffff,
                                        0x80000000, 0x00000001, 0x80000001, 0x7f800000, 0xff800000};
  const std::vector<uint64_t> doubles = {0x7ff0000000000001, 0xfff0000000000001, 0x7ff8000000012345,
                                         0xfff8deadbeef0001, 0x7ff7ffffffffffff, 0x8000000000000000,
                                         0x0000000000000001, 0x8000000000000001};
  const auto check = [](aclDataType dtype, const std::vector<uint64_t>& patterns) {
    const int64_t count = static_cast<int64_t>(patterns.size());
    EmbeddingCall call(dtype, ACL_INT64, 2, count, {3});
    for (int64_t i = 0; i < 2 * count; ++i)
      call[kWeight].set_bits(i, patterns[static_cast<size_t>(i % count)]);
    call[kIndices].fill({1, 0, 1});
    ASSERT_TRUE(succeeded(call.run()));
    for (int64_t i = 0; i < 3 * count; ++i) {
      ASSERT_EQ(call[kOut].bits(i), patterns[static_cast<size_t>(i % count)]) << "dtype " << dtype;
    }
  };
  check(ACL_FLOAT, floats);
  check(ACL_DOUBLE, doubles);
  check(ACL_COMPLEX64, {0x7f8000017fc12345, 0x80000000ff800001});
  std::vector<uint64_t> bools(256);  // BOOL is one byte; values other than 0 and 1 are also copied
  for (size_t i = 0; i < 256; ++i) bools[i] = i;
  check(ACL_BOOL, bools);
}

// Rows beyond 32-bit numbers: the table is described in full, but only three of its rows exist. Gaps between
// rows keep the described table from being dense, so that it overlaps nothing provably.
TEST(EmbeddingValues, RowNumbersBeyond32Bits) {
  Random random(test_seed());
  constexpr int64_t kFirst = (int64_t{1} << 33) - 1;
  const HostTensor memory(ACL_FLOAT, {3, 5});
  for (int64_t i = 0; i < 15; ++i) memory.element(i)[0] = static_cast<std::byte>(random.bits());
  const auto base = reinterpret_cast<uintptr_t>(memory.data()) - static_cast<uintptr_t>(kFirst) * 20;
  EmbeddingCall call(ACL_FLOAT, ACL_INT64, 1, 4, {5});
  call.replace(kWeight, HostTensor(ACL_FLOAT, {kFirst + 3, 4}, View{{5, 1}, 0}, memory,
                                   reinterpret_cast<void*>(base)));  // NOLINT(performance-no-int-to-ptr)
  for (int64_t i = 0; i < 5; ++i) call.set_index(i, kFirst + (2 * i + 1) % 3);
  ASSERT_TRUE(call.run_and_compare());
  call.set_index(2, kFirst + 3);
  ASSERT_TRUE(call.run_and_compare());
}

// ---- Out of range ----

std::vector<int64_t> wrong_values(aclDataType index_dtype, int64_t table_rows) {
  std::vector<int64_t> wrong = {-1,        -table_rows, -table_rows - 1, table_rows, table_rows + 1,
                                INT32_MIN, INT32_MAX};
  if (index_dtype == ACL_INT64) {
    const int64_t wrap = int64_t{1} << 32;  // 32-bit arithmetic would take it for row 0
    for (const int64_t value : {INT64_MIN, INT64_MIN + 1, INT64_MAX, wrap, wrap + 1, -wrap, wrap * 4,
                                INT32_MIN - 1L, INT32_MAX + 1L}) {
      wrong.push_back(value);
    }
  }
  return wrong;
}

TEST(EmbeddingFaults, EveryWrongValueZeroesItsRowOnly) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const aclDataType index_dtype : kIndexDtypes) {
      for (const int64_t table_rows : {1, 7}) {
        for (const int64_t value : wrong_values(index_dtype, table_rows)) {
          for (const int64_t position : {0, 3, 9}) {
            EmbeddingCall call(dtype, index_dtype, table_rows, 5, {10});
            call.fill(random);
            call.set_index(position, value);
            ASSERT_TRUE(call.run_and_compare())
                << "dtype " << dtype << ", index " << value << " at " << position;
          }
        }
      }
    }
  }
}

TEST(EmbeddingFaults, ArePositionsInRowMajorOrder) {
  Random random(test_seed());
  for (const Layout layout : kOutputLayouts) {
    EmbeddingCall call(ACL_FLOAT, ACL_INT64, 7, 3, {4, 5, 6}, layout);
    call.fill(random);
    call.set_index(4 * 6 + 2, -9);
    call.set_index(30, 7);
    call.set_index(119, 8);
    ASSERT_TRUE(failed_in_sync(call.run(),
                               {"indices[26] = -9 is outside [0, 7); the rows of 3 of 120 indices were set "
                                "to zero"}));
    ASSERT_TRUE(call.run_and_compare()) << layout_name(layout);
  }
}

TEST(EmbeddingFaults, AreReportedOnceAndTheStreamGoesOn) {
  Random random(test_seed());
  EmbeddingCall call(ACL_FLOAT16, ACL_INT32, 7, 3, {4});
  call.fill(random);
  call.set_index(2, 7);
  ASSERT_TRUE(call.run_and_compare());
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
  call.set_index(2, 6);
  ASSERT_TRUE(call.run_and_compare());
}

TEST(EmbeddingFaults, ATableWithoutRowsGivesZeros) {
  for (const aclDataType dtype : kEmbeddingDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes) {
      for (const Shape& index_dims : {Shape{}, Shape{1}, Shape{3, 4}, Shape{5000}}) {
        EmbeddingCall call(dtype, index_dtype, 0, 5, index_dims);
        for (int64_t i = 0; i < call[kIndices].numel(); ++i) call.set_index(i, 0);
        ASSERT_TRUE(call.run_and_compare())
            << dtype_name(dtype) << ", indices " << testing::PrintToString(index_dims);
      }
    }
  }
}

TEST(EmbeddingFaults, WithoutColumnsNothingIsLookedAt) {
  EmbeddingCall call(ACL_FLOAT, ACL_INT64, 3, 0, {4});
  for (int64_t i = 0; i < 4; ++i) call.set_index(i, -1);
  EXPECT_TRUE(succeeded(call.run()));
}

TEST(EmbeddingFaults, AreTheSameForAnyNumberOfThreads) {
  for (const char* threads : {"1", "2", "3", "7"}) {
    const ProcessResult result = run_suite("EmbeddingThreads", {{"OPENACLNN_NUM_THREADS", threads}});
    EXPECT_TRUE(ran_and_passed(result)) << threads << " threads: " << result.output;
  }
}

// Enough work for every thread, split by positions and by columns, with faulty indices in several chunks.
PROCESS_TEST(EmbeddingThreads, TheLowestPositionIsReported) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const auto& [positions, columns] : {std::pair<int64_t, int64_t>{20000, 17}, {3, 300007}, {40, 5000}}) {
    for (int n = 0; n < 6; ++n) {
      EmbeddingCall call(ACL_FLOAT, kIndexDtypes[n % 2], 5, columns, {positions});
      call.fill(random);
      const int64_t wrong = n == 0   ? 0
                            : n == 5 ? positions
                                     : random.between(1, std::min<int64_t>(positions, 9));
      for (int64_t k = 0; k < wrong; ++k) {
        call.set_index(wrong == positions ? k : random.below(positions), random.between(5, 90));
      }
      ASSERT_TRUE(call.run_and_compare()) << positions << " x " << columns << ", " << wrong << " wrong";
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
