// Tests addresses and counts beyond 2^31, where 32-bit arithmetic would wrap: every operator on views with
// elements that far apart, and tensors of more than 2^31 elements if the operator writes few of them.
// Memory that is only read stays unmapped zeros.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "operator_calls.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_test::calls {
namespace {

constexpr int64_t kBeyond = int64_t{1} << 31;
constexpr int64_t kMemoryNeeded = int64_t{16} << 30;

int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return 0;
}

class Large : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("OPENACLNN_TEST_ELEMENTS") != nullptr)
      GTEST_SKIP() << "OPENACLNN_TEST_ELEMENTS asks for small tests";
    if (available_memory() < kMemoryNeeded)
      GTEST_SKIP() << "needs 16 GiB of free memory, /proc/meminfo says " << (available_memory() >> 20)
                   << " MiB";
  }
};

HostTensor sparse_tensor(aclDataType dtype, const Shape& dims) {
  return HostTensor(dtype, dims, Layout::contiguous, Placement::sparse);
}

void set_row(HostTensor& tensor, int64_t row, int64_t columns, double value) {
  for (int64_t c = 0; c < columns; ++c) tensor.set(row * columns + c, value);
}

// Counts the bytes of a range that differ from `byte`.
int64_t count_other_bytes(const std::byte* begin, const std::byte* end, std::byte byte) {
  return (end - begin) - std::count(begin, end, byte);
}

// ---- far apart ----

// The same values with more than 2^31 elements between the first and the last slice, or before the only one.
HostTensor spread(const HostTensor& tensor, bool downwards) {
  View view = make_view(Layout::contiguous, tensor.dims());
  const int64_t slices = tensor.dims().empty() ? 1 : tensor.dims()[0];
  const int64_t slice = std::max<int64_t>(tensor.numel() / std::max<int64_t>(slices, 1), 1);
  int64_t span = kBeyond + 7 + slice;
  if (slices > 1) {
    const int64_t stride = kBeyond / (slices - 1) + slice + 1;
    span = (slices - 1) * stride + slice;
    view.strides[0] = downwards ? -stride : stride;
    view.offset = downwards ? (slices - 1) * stride : 0;
  } else {
    view.offset = kBeyond + 7;
  }
  const HostTensor memory = sparse_tensor(tensor.dtype(), {span});
  HostTensor made(tensor.dtype(), tensor.dims(), view, memory, memory.data());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    std::copy_n(tensor.element(i), element_bytes(tensor.dtype()), made.element(i));
  }
  return made;
}

// Each slice of a spread tensor is a page of memory or more.
bool has_few_slices(const Case& c) {
  int64_t slices = 0;
  for (const TensorCase& tensor : c.tensors) slices += tensor.dims.empty() ? 1 : tensor.dims[0];
  return slices <= 12000;
}

TEST_F(Large, ViewsThatSpanMoreThan31Bits) {
  std::map<std::string, int> tested;
  for (Case& c : all_cases()) {
    if (!has_few_slices(c)) continue;
    SCOPED_TRACE(c.name);
    for (TensorCase& tensor : c.tensors) tensor.layout = Layout::contiguous;
    const std::vector<HostTensor> filled = make_tensors(c), plain = make_tensors(c);
    ASSERT_TRUE(succeeded(run_case(c, plain)));
    const bool downwards = tested[c.operator_name()]++ % 2 != 0;
    std::vector<HostTensor> views;
    for (const HostTensor& tensor : filled) views.push_back(spread(tensor, downwards));
    ASSERT_TRUE(succeeded(run_case(c, views)));
    for (size_t k = 0; k < views.size(); ++k) {
      ASSERT_TRUE(views[k].same_elements(plain[k])) << c.tensors[k].name;
    }
  }
  for (const std::string& name : operator_names()) EXPECT_GE(tested[name], 3) << name << " has too few cases";
}

// ---- many elements ----

TEST_F(Large, EmbeddingWritesMoreThan31BitsOfElements) {
  constexpr int64_t kColumns = 1 << 15, kPositions = (1 << 16) + 3;
  HostTensor weight(ACL_INT8, {3, kColumns}), indices(ACL_INT32, {kPositions});
  for (int64_t i = 0; i < weight.numel(); ++i) weight.set_bits(i, static_cast<uint64_t>(i * 31 / 7 + 1));
  for (int64_t n = 0; n < kPositions; ++n) indices.set_bits(n, static_cast<uint64_t>(n * 5 / 3 % 3));
  const HostTensor out = sparse_tensor(ACL_INT8, {kPositions, kColumns});
  ASSERT_GT(out.numel(), kBeyond);
  embedding_into(weight, indices, out);
  int64_t wrong = 0;
  for (int64_t n = 0; n < kPositions; ++n) {
    const auto row = static_cast<int64_t>(indices.bits(n));
    wrong += std::memcmp(out.element(n * kColumns), weight.element(row * kColumns), kColumns) != 0;
  }
  EXPECT_EQ(wrong, 0) << "rows differ";
}

TEST_F(Large, EmbeddingReadsBehind31BitsOfElements) {
  constexpr int64_t kColumns = 40, kRows = kBeyond / kColumns + 1000;
  HostTensor weight = sparse_tensor(ACL_INT8, {kRows, kColumns});
  HostTensor indices(ACL_INT64, {3});
  const int64_t rows[] = {kRows - 1, 1, kBeyond / kColumns + 2};
  for (int64_t n = 0; n < 3; ++n) {
    indices.set_bits(n, static_cast<uint64_t>(rows[n]));
    set_row(weight, rows[n], kColumns, static_cast<double>(n + 1));
  }
  const HostTensor out = embedding(weight, indices);
  for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.get(i), static_cast<double>(i / kColumns + 1));
}

TEST_F(Large, EmbeddingGradientHasMoreThan31BitsOfElements) {
  constexpr int64_t kColumns = 64, kRows = (1 << 25) + 9;
  HostTensor grad(ACL_FLOAT16, {4, kColumns}), indices(ACL_INT64, {4});
  const int64_t rows[] = {kRows - 1, 0, 1 << 25, kRows - 1};
  for (int64_t n = 0; n < 4; ++n) {
    indices.set_bits(n, static_cast<uint64_t>(rows[n]));
    set_row(grad, n, kColumns, static_cast<double>(n + 1));
  }
  HostTensor out = sparse_tensor(ACL_FLOAT16, {kRows, kColumns});
  std::memset(out.data(), 0xA5,
              static_cast<size_t>(out.numel() * 2));  // rows without terms must become zeros
  embedding_backward_into(grad, indices, kRows, out);
  const double sums[] = {1 + 4, 2, 3};
  for (int64_t n = 0; n < 3; ++n) {
    for (int64_t c = 0; c < kColumns; ++c) ASSERT_EQ(out.get(rows[n] * kColumns + c), sums[n]);
    set_row(out, rows[n], kColumns, 0);
  }
  EXPECT_EQ(count_other_bytes(out.element(0), out.element(out.numel() - 1) + 2, std::byte{0}), 0);
}

TEST_F(Large, BiasGradientOfMoreThan31BitsOfElements) {
  constexpr int64_t kColumns = 1024, kRows = (1 << 21) + 3;
  HostTensor grad = sparse_tensor(ACL_FLOAT16, {kRows, kColumns});
  ASSERT_GT(grad.numel(), kBeyond);
  set_row(grad, 0, kColumns, 1);
  set_row(grad, (1 << 20) - 1, kColumns, 2);
  set_row(grad, 1 << 20, kColumns, 4);
  set_row(grad, (1 << 21) - 1, kColumns, 8);
  set_row(grad, 1 << 21, kColumns, 16);
  set_row(grad, kRows - 1, kColumns, 32);
  const HostTensor out = bias_grad(grad, {1 << 20, 1 << 20, 3});
  const double sums[] = {1 + 2, 4 + 8, 16 + 32};
  for (int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.get(i), sums[i / kColumns]) << "element " << i;
}

// A group of more than 2^31 rows, all of them the same element.
TEST_F(Large, BiasGradientOfMoreThan31BitsOfRows) {
  HostTensor one(ACL_FLOAT, {1});
  one.set(0, 1);
  const std::vector<int64_t> sizes = {5, kBeyond + 595, 100};
  const HostTensor grad(ACL_FLOAT, {kBeyond + 700, 1}, View{{0, 0}, 0}, one, one.data());
  const HostTensor out = bias_grad(grad, sizes);
  for (int64_t g = 0; g < 3; ++g) {
    const auto size = static_cast<double>(sizes[static_cast<size_t>(g)]);
    EXPECT_EQ(out.get(g), static_cast<double>(static_cast<float>(size))) << "group " << g;
  }
}

// The last page goes into the last slot.
TEST_F(Large, CacheOfMoreThan31BitsOfElements) {
  constexpr int64_t kColumns = 1024, kPage = 64, kPages = (1 << 15) + 2, kSlots = (1 << 21) + 3;
  HostTensor input = sparse_tensor(ACL_FLOAT16, {kPages, kPage, 1, kColumns});
  const HostTensor cache = sparse_tensor(ACL_FLOAT16, {kSlots, 1, kColumns});
  ASSERT_GT(std::min(input.numel(), cache.numel()), kBeyond);
  set_row(input, (kPages - 1) * kPage + 7, kColumns, 2);
  HostTensor weight(ACL_FLOAT16, {kPage, 1}), slots(ACL_INT32, {1}), table(ACL_INT32, {1, 1});
  for (int64_t i = 0; i < kPage; ++i) weight.set(i, static_cast<double>(i + 1));
  slots.set(0, kSlots - 1);
  table.set(0, kPages - 1);
  nsa_compress_with_cache(input, weight, slots, &table, {{kPage}, kPage, 1}, cache);
  const int64_t last = (kSlots - 1) * kColumns;
  for (int64_t i = 0; i < kColumns; ++i) ASSERT_EQ(cache.get(last + i), 2. * (7 + 1)) << "column " << i;
  // Untouched memory is not mapped: only some rows are checked.
  for (const int64_t row : {int64_t{0}, int64_t{1}, kSlots / 2, kSlots - 2}) {
    const std::byte* const begin = cache.element(row * kColumns);
    EXPECT_EQ(count_other_bytes(begin, begin + kColumns * 2, std::byte{0}), 0) << "slot " << row;
  }
}

TEST_F(Large, CompressionOfMoreThan31BitsOfElements) {
  constexpr int64_t kColumns = 1024, kBlock = 64, kWindows = (1 << 15) + 2;
  const Windows w = {{kWindows * kBlock}, kBlock, kBlock};
  HostTensor input = sparse_tensor(ACL_FLOAT16, {w.tokens(), 1, kColumns});
  ASSERT_GT(input.numel(), kBeyond);
  HostTensor weight(ACL_FLOAT16, {kBlock, 1});
  for (int64_t i = 0; i < kBlock; ++i) weight.set(i, static_cast<double>(i + 1));
  // One token in each of a few windows, the last of them after 2^31 elements.
  const int64_t windows[] = {0, 1 << 14, 1 << 15, kWindows - 1};
  HostTensor output_grad = sparse_tensor(ACL_FLOAT16, {kWindows, 1, kColumns});
  for (const int64_t j : windows) {
    set_row(input, j * kBlock + 7, kColumns, 2);
    set_row(output_grad, j, kColumns, .5);
  }

  const HostTensor out = nsa_compress(input, weight, w);
  const auto is_marked = [&](int64_t j) { return std::count(std::begin(windows), std::end(windows), j) > 0; };
  for (int64_t i = 0; i < out.numel(); ++i) {
    ASSERT_EQ(out.get(i), is_marked(i / kColumns) ? 2. * (7 + 1) : 0) << "element " << i;
  }

  HostTensor input_grad = sparse_tensor(ACL_FLOAT16, {w.tokens(), 1, kColumns});
  std::memset(input_grad.data(), 0xA5, static_cast<size_t>(input_grad.numel() * 2));
  const HostTensor weight_grad(ACL_FLOAT16, {kBlock, 1});
  nsa_compress_grad_into(output_grad, input, weight, w, input_grad, weight_grad);
  for (int64_t i = 0; i < kBlock; ++i) {
    EXPECT_EQ(weight_grad.get(i), i == 7 ? 4 * .5 * 2 * kColumns : 0) << "weight " << i;
  }
  for (const int64_t j : windows) {
    for (int64_t i = 0; i < kBlock * kColumns; ++i) {
      ASSERT_EQ(input_grad.get(j * kBlock * kColumns + i), .5 * static_cast<double>(i / kColumns + 1));
    }
    std::memset(input_grad.element(j * kBlock * kColumns), 0, kBlock * kColumns * 2);
  }
  EXPECT_EQ(
      count_other_bytes(input_grad.element(0), input_grad.element(input_grad.numel() - 1) + 2, std::byte{0}),
      0);
}

}  // namespace
}  // namespace openaclnn_test::calls
