// Tests outputs larger than the caches, which kernels write with streaming stores: the same bits as in
// pieces that stay in the caches, and no other writes. It covers every operator with streaming stores, with
// aligned rows, rows that cannot be streamed, and gaps between rows.
//
// Inputs stay small: their rows are overlapping pieces of one pool of numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "operator_calls.h"
#include "support/subprocess.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test::calls {
namespace {

// src/cpu/caches.cc: on any machine, outputs of more bytes than the first are streamed, outputs up to the
// second are not.
constexpr int64_t kAlwaysStreamed = int64_t{32} << 20;
constexpr int64_t kNeverStreamed = int64_t{1} << 20;

// ---- inputs ----

// Random numbers, one in 16 of them subnormal; in the last quarter also infinities, quiet and signalling NaN, and -0.
constexpr int64_t kPoolElements = int64_t{1} << 18;
constexpr int64_t kPoolQuarter = kPoolElements / 4;

HostTensor make_pool(Random& random, aclDataType dtype) {
  constexpr int kLow = -4, kHigh = 3;
  constexpr int64_t kSpecialEvery = 509;
  HostTensor pool = random_tensor(random, dtype, {kPoolElements}, kLow, kHigh);
  const double smallest_normal = std::ldexp(1, float_format(dtype)->min_exponent);
  for (int64_t i = 5; i < kPoolElements; i += 16) pool.set(i, random.uniform(-1, 1) * smallest_normal);
  const double infinity = std::numeric_limits<double>::infinity();
  const uint64_t specials[] = {encode(dtype, infinity),          encode(dtype, -infinity),
                               encode(dtype, std::nan("")),      encode(dtype, infinity) | 1,
                               encode(dtype, -infinity) | 0b110, encode(dtype, -0.0)};
  for (int64_t i = 3 * kPoolQuarter, k = 0; i < kPoolElements; i += kSpecialEvery)
    pool.set_bits(i, specials[static_cast<size_t>(k++) % std::size(specials)]);
  return pool;
}

// `dims` over the pool, the last of them contiguous, the others with `strides`.
HostTensor pool_view(const HostTensor& pool, const Shape& dims, std::vector<int64_t> strides) {
  strides.push_back(1);
  int64_t last = 0;
  for (size_t k = 0; k < dims.size(); ++k) last += (std::max<int64_t>(dims[k], 1) - 1) * strides[k];
  EXPECT_LT(last, kPoolElements);
  return HostTensor(pool.dtype(), dims, View{std::move(strides), 0}, pool, pool.data());
}

// Slices [first, first + count) of the first dimension.
HostTensor slices(const HostTensor& tensor, int64_t first, int64_t count) {
  Shape dims = tensor.dims();
  dims[0] = count;
  View view = tensor.view();
  view.offset += first * view.strides[0];
  return HostTensor(tensor.dtype(), dims, view, tensor, tensor.data());
}

// ---- outputs ----

// The position of an output: elements between its rows, and its distance in bytes from the start of a cache
// line.
struct Place {
  int64_t gap = 0;
  int64_t shift_bytes = 0;
};
std::string text_of(const Place& place) {
  return "gaps of " + std::to_string(place.gap) + " elements, shifted by " +
         std::to_string(place.shift_bytes) + " bytes";
}
constexpr Place kPlaces[] = {{}, {.shift_bytes = 16}, {.gap = 16}};

// An output of more than kAlwaysStreamed bytes among canaries; a guard page follows it where possible. All
// outputs share the same memory, one after the other.
class LargeOutput {
 public:
  LargeOutput(aclDataType dtype, const Shape& dims, const Place& place)
      : rows_(dims[0]),
        row_bytes_(count_elements(dims) / rows_ * element_bytes(dtype)),
        stride_bytes_(row_bytes_ + place.gap * element_bytes(dtype)),
        tensor_(dtype, dims, view_of(dims, place.gap), memory(), start_of(place)) {
    EXPECT_GT(rows_ * row_bytes_, kAlwaysStreamed);
    EXPECT_GE(row(0) - kMargin, memory().element(0));
    std::fill(row(0) - kMargin, end(), kCanary);
  }

  const HostTensor& tensor() const { return tensor_; }

  // Each row must hold the bytes at expected(row), or zeros if that is nullptr. All other bytes must still
  // be canaries.
  template <class Expected>
  void expect_rows(const Expected& expected) const {
    const std::vector<std::byte> zeros(static_cast<size_t>(row_bytes_));
    const auto is_untouched = [](const std::byte* first, const std::byte* last) {
      return std::all_of(first, last, [](std::byte b) { return b == kCanary; });
    };
    EXPECT_TRUE(is_untouched(row(0) - kMargin, row(0))) << "bytes before the output changed";
    for (int64_t r = 0; r < rows_; ++r) {
      const std::byte* const wanted = expected(r);
      ASSERT_EQ(std::memcmp(row(r), wanted == nullptr ? zeros.data() : wanted, zeros.size()), 0)
          << "row " << r << " of " << rows_;
      ASSERT_TRUE(is_untouched(row(r) + row_bytes_, r + 1 < rows_ ? row(r + 1) : end()))
          << "behind row " << r;
    }
  }

 private:
  static constexpr int64_t kMemoryBytes = int64_t{56} << 20;
  static constexpr int64_t kMargin = 4096;
  static constexpr std::byte kCanary{GuardedBuffer::kCanary};

  static const HostTensor& memory() {
    static const HostTensor shared(ACL_INT8, {kMemoryBytes});
    return shared;
  }
  static std::byte* end() { return memory().element(0) + kMemoryBytes; }

  static View view_of(const Shape& dims, int64_t gap) {
    View view = make_view(Layout::contiguous, dims);
    view.strides[0] += gap;
    return view;
  }
  std::byte* start_of(const Place& place) const {
    constexpr int64_t kLine = 64;
    return end() - (rows_ * stride_bytes_ + kLine - 1) / kLine * kLine - place.shift_bytes;
  }
  std::byte* row(int64_t r) const { return static_cast<std::byte*>(tensor_.data()) + r * stride_bytes_; }

  int64_t rows_, row_bytes_, stride_bytes_;
  HostTensor tensor_;
};

// ---- tests ----

class Streams : public testing::TestWithParam<aclDataType> {
 protected:
  static int64_t rows_for(int64_t columns, aclDataType dtype) {
    return kAlwaysStreamed / (columns * element_bytes(dtype)) + 13;
  }
  static int64_t rows_for(int64_t columns) { return rows_for(columns, GetParam()); }

  Random random_{test_seed()};
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text()};
  HostTensor pool_ = make_pool(random_, GetParam());
};

TEST_P(Streams, EmbeddingCopiesRows) {
  constexpr int64_t kTableRows = 500, kRowStride = 523;
  for (const int64_t columns : {256, 40}) {
    const HostTensor weight = pool_view(pool_, {kTableRows, columns}, {kRowStride});
    const int64_t positions = rows_for(columns);
    HostTensor indices(ACL_INT32, {positions});
    std::vector<int64_t> rows;
    constexpr int64_t kOutside[] = {-1, kTableRows, INT32_MIN, INT32_MAX};
    for (int64_t n = 0; n < positions; ++n) {
      rows.push_back(random_.chance(9) ? kOutside[random_.below(4)] : random_.below(kTableRows));
      indices.set_bits(n, static_cast<uint32_t>(rows.back()));
    }
    for (const Place& place : kPlaces) {
      SCOPED_TRACE(std::to_string(columns) + " columns, " + text_of(place));
      const LargeOutput out(GetParam(), {positions, columns}, place);
      const Tensors tensors = {&weight, &indices, &out.tensor()};
      const auto phase1 = [](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(t[0], t[1], t[2], bytes, executor);
      };
      EXPECT_TRUE(failed_in_sync(run_operator(tensors, phase1, aclnnEmbedding), {"set to zero"}));
      out.expect_rows([&](int64_t n) {
        const int64_t row = rows[static_cast<size_t>(n)];
        return row < 0 || row >= kTableRows ? nullptr : weight.element(row * columns);
      });
    }
  }
}

// Table rows with terms, from 1 to 1000, at `rows` of a large table and one after the other in a small one.
struct NamedRows {
  std::vector<int64_t> rows;
  std::vector<int64_t> positions;  // of the gradient: the number of the named row, in any order

  NamedRows(Random& random, int64_t count, int64_t table_rows) {
    const int64_t distance = table_rows / (count / 3 + 1);
    for (int64_t k = 0; k < count; ++k) {
      rows.push_back(k + 1 < count ? k / 3 * distance + k % 3
                                   : table_rows - 1);  // three together, then a gap
      constexpr int64_t kFew[] = {1, 2, 5, 3, 4};
      const int64_t terms = k == 1 ? 1000 : k % 8 == 4 ? 70 : kFew[k % 5];
      positions.insert(positions.end(), static_cast<size_t>(terms), k);
    }
    positions = choose(positions, random_order(random, static_cast<int64_t>(positions.size())));
  }
};

void expect_same_table_gradient(Random& random, const HostTensor& pool, aclDataType out_dtype,
                                int64_t columns, int64_t table_rows, const Place& place) {
  SCOPED_TRACE(std::to_string(columns) + " columns, " + text_of(place));
  const int64_t row_bytes = columns * element_bytes(out_dtype);
  const int64_t count = std::min<int64_t>(kNeverStreamed / row_bytes, 128);
  constexpr int64_t kPadding = 4;  // one of the rows with 70 terms
  const NamedRows named(random, count, table_rows);
  const auto positions = static_cast<int64_t>(named.positions.size());
  const HostTensor grad =
      pool_view(pool, {positions, columns}, {((kPoolElements - columns) / positions - 1) | 1});
  HostTensor indices(ACL_INT64, {positions}), own_indices(ACL_INT64, {positions});
  for (int64_t n = 0; n < positions; ++n) {
    const int64_t k = named.positions[static_cast<size_t>(n)];
    indices.set_bits(n, static_cast<uint64_t>(named.rows[static_cast<size_t>(k)]));
    own_indices.set_bits(n, static_cast<uint64_t>(k));
  }
  const HostTensor own(out_dtype, {count, columns});
  ASSERT_LE(count * row_bytes, kNeverStreamed);
  embedding_backward_into(grad, own_indices, count, own, false, kPadding);
  const LargeOutput out(out_dtype, {table_rows, columns}, place);
  embedding_backward_into(grad, indices, table_rows, out.tensor(), false,
                          static_cast<uint64_t>(named.rows[kPadding]));
  out.expect_rows([&](int64_t row) {
    const auto found = std::find(named.rows.begin(), named.rows.end(), row);
    const int64_t k = found - named.rows.begin();
    return found == named.rows.end() || k == kPadding ? nullptr : own.element(k * columns);
  });
}

TEST_P(Streams, EmbeddingGradientAddsRows) {
  const aclDataType dtype = GetParam();
  for (const Place& place : kPlaces)
    expect_same_table_gradient(random_, pool_, dtype, 256, rows_for(256), place);
  // Rows that are not whole lines or vectors, and rows of several tiles, one of which threads share by
  // columns.
  for (const int64_t columns : {48, 36, 9024})
    expect_same_table_gradient(random_, pool_, dtype, columns, rows_for(columns), {});
  const aclDataType other = dtype == ACL_FLOAT ? ACL_BF16 : ACL_FLOAT;
  expect_same_table_gradient(random_, pool_, other, 256, rows_for(256, other), {});
}

// Sequences of tokens are independent of each other except for the gradient of the weights, which must not
// depend on the position of the other one.
TEST_P(Streams, CompressionGradientOfTokens) {
  constexpr int64_t kHeads = 4, kTokensBehind = 37;
  for (const int64_t columns : {128, 96, 288}) {
    const int64_t row_bytes = kHeads * columns * element_bytes(GetParam());
    Windows w = {.lengths = {}, .block = 32, .step = 16};
    constexpr int64_t kLengths[] = {200, 31, 33,
                                    160, 7,  190};  // 31 and 7: no window; 190: a rest in no window
    while (w.tokens() < rows_for(kHeads * columns)) w.lengths.push_back(kLengths[w.lengths.size() % 6]);
    const int64_t tokens = w.tokens() + kTokensBehind;
    // The last head has NaN and infinities among its numbers; the others test the sums of weights better.
    const HostTensor input = pool_view(pool_, {tokens, kHeads, columns}, {1, kPoolQuarter});
    const HostTensor output_grad = pool_view(pool_, {w.count(), kHeads, columns}, {13, kPoolQuarter});
    const HostTensor weight = random_tensor(random_, GetParam(), {w.block, kHeads});

    HostTensor own(GetParam(), {tokens, kHeads, columns});  // zeros where there is no window
    for (int64_t i = 0, first = 0, window = 0; i < static_cast<int64_t>(w.lengths.size()); ++i) {
      const Windows piece = {{w.lengths[static_cast<size_t>(i)]}, w.block, w.step};
      ASSERT_LE(piece.tokens() * row_bytes, kNeverStreamed);
      const HostTensor own_piece = slices(own, first, piece.tokens());
      const HostTensor own_weight(GetParam(), weight.dims());
      nsa_compress_grad_into(slices(output_grad, window, piece.count()), slices(input, first, piece.tokens()),
                             weight, piece, own_piece, own_weight);
      first += piece.tokens();
      window += piece.count();
    }
    std::vector<std::vector<uint64_t>> weight_grads;
    for (const Place& place : kPlaces) {
      SCOPED_TRACE(std::to_string(columns) + " columns, " + text_of(place));
      const LargeOutput out(GetParam(), {tokens, kHeads, columns}, place);
      const HostTensor weight_grad(GetParam(), weight.dims());
      nsa_compress_grad_into(output_grad, input, weight, w, out.tensor(), weight_grad);
      out.expect_rows([&](int64_t token) {
        return token < w.tokens() ? own.element(token * kHeads * columns) : nullptr;
      });
      weight_grads.push_back(weight_grad.all_bits());
      EXPECT_EQ(weight_grads.back(), weight_grads.front());
    }
  }
}

TEST_P(Streams, ZerosWhereThereIsNothingToAdd) {
  constexpr int64_t kGroups = 1024, kStep = 16;
  const int64_t columns = rows_for(kGroups) / kStep * kStep + kStep;
  const HostTensor grad(GetParam(), {0, columns});
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(text_of(place));
    const LargeOutput out(GetParam(), {kGroups, columns}, place);
    bias_grad_into(grad, std::vector<int64_t>(kGroups, 0), out.tensor());
    out.expect_rows([](int64_t) -> const std::byte* { return nullptr; });
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Streams, testing::ValuesIn(kFloatDtypes),
                         [](const auto& dtype) { return dtype_name(dtype.param); });

// The tests above ran with this machine's best instruction set and its number of threads.
TEST(StreamsElsewhere, OtherInstructionSetsAndThreads) {
  for (const std::map<std::string, std::string>& environment : {
           std::map<std::string, std::string>{{"OPENACLNN_ISA", "avx2"}, {"OPENACLNN_NUM_THREADS", "3"}},
           {{"OPENACLNN_ISA", "scalar"}},
       }) {
    const ProcessResult result = run_self({"--gtest_filter=Dtypes/Streams.*"}, environment);
    SCOPED_TRACE(environment.at("OPENACLNN_ISA"));
    EXPECT_TRUE(ran_and_passed(result)) << result.output;
  }
}

}  // namespace
}  // namespace openaclnn_test::calls
