// Tests the table of tensors: threads that copy descriptions while others replace, destroy and create tensors.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "runtime/tensor.h"

namespace openaclnn {
namespace {

constexpr int kVersions = 5;

// A tensor whose numbers all follow from `version`, and whose rank is version + 1.
std::shared_ptr<const Tensor> make_version(int version) {
  std::vector<int64_t> dims(static_cast<size_t>(version) + 1, version + 2);
  auto made = make_tensor(dims.data(), dims.size(), ACL_FLOAT, nullptr, version, ACL_FORMAT_ND, dims.data(),
                          dims.size(), reinterpret_cast<void*>(static_cast<uintptr_t>(version + 1) << 12));
  return *made;
}

const std::array<std::shared_ptr<const Tensor>, kVersions>& versions() {
  static const auto all = [] {
    std::array<std::shared_ptr<const Tensor>, kVersions> made;
    for (int k = 0; k < kVersions; ++k) made[static_cast<size_t>(k)] = make_version(k);
    return made;
  }();
  return all;
}

// Fails the test if a copied description mixes two versions.
void expect_one_version(const TensorDescription& copy) {
  ASSERT_LT(copy.view.offset, kVersions);
  const TensorDescription& expected = *versions()[static_cast<size_t>(copy.view.offset)];
  ASSERT_EQ(copy.rank, expected.rank);
  ASSERT_EQ(copy.view.rank, expected.view.rank);
  ASSERT_EQ(copy.view.data, expected.view.data);
  ASSERT_EQ(copy.facts.data_bytes, expected.facts.data_bytes);
  ASSERT_EQ(copy.facts.bytes.begin, expected.facts.bytes.begin);
  ASSERT_EQ(copy.facts.bytes.end, expected.facts.bytes.end);
  for (int k = 0; k < copy.view.rank; ++k) {
    ASSERT_EQ(copy.view.dims[k], expected.view.dims[k]);
    ASSERT_EQ(copy.view.strides[k], expected.view.strides[k]);
  }
}

TEST(TensorTable, ReadersSeeOneVersionWhileOthersReplaceIt) {
  TensorTable& table = TensorTable::instance();
  void* const handle = table.insert(versions()[0]);
  std::atomic<bool> done{false};
  std::atomic<int> waiting{2};
  const auto read_all = [&] {
    TensorDescription copy;
    waiting.fetch_sub(1);
    do {
      ASSERT_TRUE(table.read(handle, copy));
      expect_one_version(copy);
    } while (!done.load());
  };
  std::thread first(read_all), second(read_all);
  while (waiting.load() > 0) std::this_thread::yield();
  size_t current = 0;
  for (int k = 0; k < 200000; ++k) {
    const size_t next = (current + 1 + static_cast<size_t>(k % 3)) % kVersions;
    ASSERT_TRUE(table.exchange(handle, versions()[current], versions()[next]));
    current = next;
  }
  done.store(true);
  first.join();
  second.join();
  TensorDescription copy;
  ASSERT_TRUE(table.read(handle, copy));
  EXPECT_EQ(copy.view.offset, static_cast<int64_t>(current));
  EXPECT_FALSE(table.exchange(handle, versions()[(current + 1) % kVersions], versions()[0]));
  EXPECT_NE(table.remove(handle), nullptr);
}

// A slot of the table is used again and again, with another generation each time.
TEST(TensorTable, HandlesOfDestroyedTensorsAreNeverRead) {
  TensorTable& table = TensorTable::instance();
  std::atomic<void*> live{table.insert(versions()[0])};
  std::atomic<bool> done{false};
  std::atomic<int> reads{0};
  std::thread reader([&] {
    TensorDescription copy;
    do {
      if (!table.read(live.load(), copy)) continue;
      expect_one_version(copy);
      reads.fetch_add(1);
    } while (!done.load() || reads.load() == 0);
  });
  for (int k = 0; k < 20000; ++k) {
    void* const old = live.load();
    ASSERT_NE(table.remove(old), nullptr);
    TensorDescription copy;
    ASSERT_FALSE(table.read(old, copy));
    live.store(table.insert(versions()[static_cast<size_t>(k % kVersions)]));
    ASSERT_FALSE(table.read(old, copy));
  }
  done.store(true);
  reader.join();
  EXPECT_NE(table.remove(live.load()), nullptr);
}

TEST(TensorTable, EveryRankIsCopied) {
  TensorTable& table = TensorTable::instance();
  for (uint64_t rank = 0; rank <= kMaxDescriptorRank; rank += rank < 10 ? 1 : 27) {
    std::vector<int64_t> dims, strides;
    for (uint64_t k = 0; k < rank; ++k) {
      dims.push_back(static_cast<int64_t>(k) + 1);
      strides.push_back(-static_cast<int64_t>(k) - 7);
    }
    auto made =
        make_tensor(dims.data(), rank, ACL_BF16, strides.data(), 3, ACL_FORMAT_NCL, nullptr, 0, &dims);
    ASSERT_TRUE(made.ok());
    void* const handle = table.insert(*made);
    TensorDescription copy;
    ASSERT_TRUE(table.read(handle, copy));
    EXPECT_EQ(copy.rank, rank);
    EXPECT_EQ(copy.format, ACL_FORMAT_NCL);
    EXPECT_EQ(copy.view.dtype, ACL_BF16);
    EXPECT_EQ(copy.view.offset, 3);
    EXPECT_EQ(copy.view.data, &dims);
    EXPECT_EQ(copy.view.rank, static_cast<int>(std::min<uint64_t>(rank, kMaxRank)));
    for (int k = 0; k < copy.view.rank; ++k) {
      EXPECT_EQ(copy.view.dims[k], dims[static_cast<size_t>(k)]);
      EXPECT_EQ(copy.view.strides[k], strides[static_cast<size_t>(k)]);
    }
    EXPECT_NE(table.remove(handle), nullptr);
  }
}

TEST(Slots, KeepTheirPlaces) {
  Slots<uint64_t, 1024> slots;
  EXPECT_EQ(slots.find(0), nullptr);
  std::vector<uint64_t*> places;
  for (uint64_t k = 0; k < 1024; ++k) {
    ASSERT_EQ(slots.size(), k);
    uint64_t& slot = slots.append();
    ASSERT_EQ(slot, 0u);
    slot = k + 1;
    places.push_back(&slot);
  }
  for (uint64_t k = 0; k < 1024; ++k) {
    ASSERT_EQ(slots.find(k), places[k]);
    ASSERT_EQ(slots[k], k + 1);
  }
  // The first element of a chunk is the start of its memory, so that memory checkers see what points to it.
  for (uint64_t k = 0; k < 1024; k = 2 * k + 16)
    ::operator delete (&slots[k], std::align_val_t{alignof(uint64_t)});
}

}  // namespace
}  // namespace openaclnn
