// Embedding: memory. Ranks, layouts of each tensor, accessed bytes, empty tensors, and address updates.
#include <gtest/gtest.h>

#include "ops/embedding/tests/call_cases.h"

namespace openaclnn_test {
namespace {

const Shape kIndexShapes[] = {{},
                              {1},
                              {7},
                              {3, 5},
                              {5, 1},
                              {2, 3, 4},
                              {1, 4, 1, 2},
                              {2, 1, 3, 2, 2},
                              {2, 2, 1, 2, 2, 3},
                              {2, 1, 2, 1, 3, 1, 2},
                              {1, 1, 1, 1, 1, 1, 1},
                              {2, 2, 2, 2, 2, 2, 2}};

TEST(EmbeddingLayouts, EveryRankInEveryLayout) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const Shape& shape : kIndexShapes) {
      for (const Layout layout : kOutputLayouts) {
        for (const Placement placement : kPlacements) {
          EmbeddingCall call(dtype, kIndexDtypes[shape.size() % 2], 6, 5, shape, layout, placement);
          call.fill(random);
          ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", indices "
                                              << testing::PrintToString(shape) << ", " << layout_name(layout);
        }
      }
    }
  }
}

TEST(EmbeddingLayouts, MayDifferFromTensorToTensor) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const auto input_layout = [&] { return kInputLayouts[random.below(std::size(kInputLayouts))]; };
  for (int n = 0; n < 1500; ++n) {
    const aclDataType dtype = kEmbeddingSizes[random.below(std::size(kEmbeddingSizes))];
    const Shape& shape = kIndexShapes[random.below(std::size(kIndexShapes))];
    const int64_t rows = random.between(1, 9), columns = random.between(1, 70);
    const Layout of_weight = input_layout(), of_indices = input_layout();
    const Layout of_out = kOutputLayouts[random.below(std::size(kOutputLayouts))];
    const auto placement = [&] { return kPlacements[random.below(2)]; };
    EmbeddingCall call(HostTensor(dtype, {rows, columns}, of_weight, placement()),
                       HostTensor(kIndexDtypes[n % 2], shape, of_indices, placement()),
                       HostTensor(dtype, embedding_out_shape(shape, columns), of_out, placement()));
    call.fill(random);
    if (random.chance(4)) call.set_index(random.below(call[kIndices].numel()), random.chance(2) ? -1 : rows);
    ASSERT_TRUE(call.run_and_compare())
        << "dtype " << dtype << ", table " << rows << " x " << columns << ", indices "
        << testing::PrintToString(shape) << "; weight " << layout_name(of_weight) << ", indices "
        << layout_name(of_indices) << ", out " << layout_name(of_out);
  }
}

TEST(EmbeddingLayouts, ManyChunksOfStridedViews) {
  Random random(test_seed());
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const Layout layout : kOutputLayouts) {
      EmbeddingCall call(dtype, ACL_INT64, 50, 37, {41, 3, 29}, layout);
      call.fill(random);
      call.set_index(3000, 50);
      call.set_index(2000, -1);
      ASSERT_TRUE(call.run_and_compare()) << "dtype " << dtype << ", " << layout_name(layout);
    }
  }
}

// One row described 2^40 times: every row number is valid, 2^32 is not row 0, and only one row is read.
TEST(EmbeddingLayouts, AnExpandedTableHasAllItsRows) {
  Random random(test_seed());
  constexpr int64_t kRows = int64_t{1} << 40;
  const HostTensor memory(ACL_INT64, {6});
  EmbeddingCall call(HostTensor(ACL_INT64, {kRows, 6}, View{{0, 1}, 0}, memory, memory.data()),
                     HostTensor(ACL_INT64, {5}), HostTensor(ACL_INT64, {5, 6}, Layout::padded));
  for (int64_t i = 0; i < 6; ++i) call[kWeight].set_bits(i, random.bits());
  const int64_t rows[] = {0, kRows - 1, int64_t{1} << 32, 12345678901, 1};
  for (int64_t i = 0; i < 5; ++i) call.set_index(i, rows[i]);
  ASSERT_TRUE(call.run_and_compare());
  call.set_index(3, kRows);
  ASSERT_TRUE(call.run_and_compare());
}

// Rows without indices need no memory: only row 1 of 3 exists, between two guard pages.
TEST(EmbeddingLayouts, RowsThatNoIndexNamesAreNotTouched) {
  Random random(test_seed());
  constexpr int64_t kColumns = 1024;  // a row of 4 KiB: its neighbours are the guard pages
  const HostTensor memory(ACL_FLOAT, {1, kColumns});
  EmbeddingCall call(ACL_FLOAT, ACL_INT32, 1, kColumns, {50});
  const auto base = reinterpret_cast<uintptr_t>(memory.data()) - kColumns * 4;
  call.replace(kWeight, HostTensor(ACL_FLOAT, {3, kColumns}, View{{kColumns, 1}, 0}, memory,
                                   reinterpret_cast<void*>(base)));  // NOLINT(performance-no-int-to-ptr)
  for (int64_t i = 0; i < kColumns; ++i) memory.element(i)[1] = static_cast<std::byte>(random.bits());
  for (int64_t i = 0; i < 50; ++i) call.set_index(i, i % 7 == 3 ? 3 + i : 1);
  ASSERT_TRUE(call.run_and_compare());
}

// Not a provable overlap, because neither view is dense; in fact there is none.
TEST(EmbeddingAliasing, OutMayLieInTheGapsOfTheTable) {
  Random random(test_seed());
  constexpr int64_t kRows = 100, kColumns = 70;
  for (const aclDataType dtype : kEmbeddingSizes) {
    const HostTensor both(dtype, {kRows, 2 * kColumns});
    EmbeddingCall call(
        HostTensor(dtype, {kRows, kColumns}, View{{2 * kColumns, 1}, 0}, both, both.data()),
        HostTensor(ACL_INT64, {kRows}),
        HostTensor(dtype, {kRows, kColumns}, View{{2 * kColumns, 1}, kColumns}, both, both.data()));
    call.fill(random);
    const EmbeddingExpected wanted = embedding_expected(call[kWeight], call[kIndices]);
    const std::vector<std::byte> table = call[kWeight].all_bytes();
    ASSERT_TRUE(succeeded(call.run()));
    ASSERT_EQ(call[kOut].all_bytes(), wanted.out);
    ASSERT_EQ(call[kWeight].all_bytes(), table);
  }
}

TEST(EmbeddingAliasing, InputsMayShareMemory) {
  EmbeddingCall call(ACL_INT64, ACL_INT64, 6, 1, {6});
  call.replace(kIndices, HostTensor(ACL_INT64, {6}, View{{1}, 0}, call[kWeight], call[kWeight].data()));
  call[kWeight].fill({3, 4, 5, 0, 2, 1});
  ASSERT_TRUE(call.run_and_compare());
}

TEST(EmbeddingEmpty, SucceedsWithoutMemory) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  struct Extents {
    int64_t rows, columns;
    Shape index_dims;
  };
  const Extents extents[] = {{3, 4, {0}},
                             {3, 4, {5, 0, 2}},
                             {3, 0, {5}},
                             {0, 0, {5}},
                             {0, 4, {0}},
                             {0, 0, {}},
                             {3, 0, {}},
                             {kHuge, 0, {kHuge / 8}},
                             {3, 4, {kHuge, 0}},
                             {0, 4, {0, kHuge, kHuge}},
                             {2, 1, {2, 2, 2, 0, 2, 2, 2}}};
  const HostTensor memory(ACL_FLOAT, {1});
  for (const aclDataType dtype : kEmbeddingSizes) {
    for (const Extents& e : extents) {
      const auto nowhere = [&](aclDataType type, const Shape& dims) {
        return HostTensor(type, dims, View{std::vector<int64_t>(dims.size(), 1), 0}, memory, nullptr);
      };
      const EmbeddingCall call(nowhere(dtype, {e.rows, e.columns}), nowhere(ACL_INT64, e.index_dims),
                               nowhere(dtype, embedding_out_shape(e.index_dims, e.columns)));
      const Outcome outcome = call.run();
      ASSERT_TRUE(succeeded(outcome)) << testing::PrintToString(e.index_dims) << ", D " << e.columns;
      ASSERT_TRUE(!on_cpu() || outcome.workspace_bytes == 0);
    }
  }
}

// The indices of aclSetTensorAddr are 0 weight, 1 indices, 2 out. Each run rereads the indices.
TEST(EmbeddingCalls, ARepeatableExecutorFollowsItsAddresses) {
  use_device();
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  EmbeddingCall call(ACL_FLOAT, ACL_INT32, 9, 33, {40}, Layout::padded);
  std::vector<Descriptor> described;
  for (int k = 0; k < kEmbeddingTensors; ++k) described.push_back(call[k].describe());
  aclTensor* const handles[] = {described[0].get(), described[1].get(), described[2].get()};
  uint64_t workspace_bytes = 1;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(embedding_phase1(handles, &workspace_bytes, &executor), 0);
  ASSERT_EQ(workspace_bytes, 0u);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  for (int round = 0; round < 12; ++round) {
    if (round > 0) {
      const int which = round % kEmbeddingTensors;
      call.replace(which, HostTensor(call[which].dtype(), call[which].dims(), Layout::padded));
      ASSERT_EQ(aclSetTensorAddr(executor, static_cast<size_t>(which), handles[which], call[which].data()),
                0);
    }
    call.fill(random);
    const EmbeddingExpected wanted = embedding_expected(call[kWeight], call[kIndices]);
    ASSERT_TRUE(succeeded(run_phase2(aclnnEmbedding, executor, 0)));
    ASSERT_EQ(call[kOut].all_bytes(), wanted.out) << "round " << round;
  }
  EXPECT_EQ(aclSetTensorAddr(executor, kEmbeddingTensors, handles[0], call[0].data()), 161002);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  take_error_text();
}

TEST(EmbeddingCalls, ALookUpMayFeedTheNextOne) {
  use_device();
  Random random(test_seed());
  EmbeddingCall first(ACL_INT64, ACL_INT32, 50, 300, {200});
  first.fill(random);
  for (int64_t i = 0; i < first[kWeight].numel(); ++i)
    first[kWeight].set_bits(i, static_cast<uint64_t>(random.below(7)));
  EmbeddingCall second(ACL_BF16, ACL_INT64, 7, 2, {200, 300});
  second.fill_weight(random);
  second.replace(kIndices, first[kOut].alias());
  for (const EmbeddingCall* call : {&first, &second}) {  // no synchronisation in between
    std::vector<Descriptor> described;
    for (int k = 0; k < kEmbeddingTensors; ++k) described.push_back((*call)[k].describe());
    aclTensor* const handles[] = {described[0].get(), described[1].get(), described[2].get()};
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(embedding_phase1(handles, &workspace_bytes, &executor), 0);
    ASSERT_EQ(aclnnEmbedding(nullptr, 0, executor, nullptr), 0);
  }
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  ASSERT_EQ(first[kOut].all_bytes(), embedding_expected(first[kWeight], first[kIndices]).out);
  ASSERT_EQ(second[kOut].all_bytes(), embedding_expected(second[kWeight], second[kIndices]).out);
}

}  // namespace
}  // namespace openaclnn_test
