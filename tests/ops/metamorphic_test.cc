// What must happen to the results when the arguments change: properties that need no reference, and that no reference shares the
// mistakes of. Splitting, permuting, neighbours and powers of two, all bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "operator_calls.h"

namespace openaclnn_test::calls {
namespace {

constexpr int kRounds = 40;

class Metamorphic : public testing::Test {
 protected:
  Random random_{test_seed()};
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text()};

  aclDataType any_dtype() { return kFloatDtypes[static_cast<size_t>(random_.below(3))]; }

  std::vector<int64_t> any_sizes(int64_t most_parts, int64_t most) {
    std::vector<int64_t> sizes(static_cast<size_t>(random_.between(1, most_parts)));
    for (int64_t& size : sizes) size = random_.chance(5) ? 0 : random_.between(1, most);
    return sizes;
  }

  // At least one part; ascending or in any order.
  std::vector<int64_t> any_parts(size_t count) {
    std::vector<int64_t> order = random_order(random_, static_cast<int64_t>(count));
    order.resize(static_cast<size_t>(random_.between(1, static_cast<int64_t>(count))));
    return order;
  }

  Windows any_windows() {
    Windows w = {any_sizes(6, 90), random_.between(1, 40), random_.between(1, 24)};
    if (w.count() == 0) w.lengths.push_back(w.block + random_.below(30));
    return w;
  }
};

TEST_F(Metamorphic, SplittingAnEmaAdamTensorChangesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const int64_t count = random_.between(1, round % 4 == 0 ? 200000 : 500);
    const EmaSettings settings = {.mode = random_.below(2), .bias_correction = random_.chance(2)};
    std::vector<HostTensor> whole, parts;
    for (int k = 0; k < 5; ++k) {
      whole.push_back(random_tensor(random_, dtype, {count}));
      if (k == 3) whole[3] = map(whole[3], [](double v) { return std::fabs(v); });
      parts.push_back(whole.back().copy(Layout::contiguous));
    }
    HostTensor step(ACL_INT64, {1});
    step.set_bits(0, static_cast<uint64_t>(random_.between(1, 1000)));
    const auto pointers = [&](const std::vector<HostTensor>& t) {
      return Tensors{&t[0], &t[1], &t[2], &t[3], &t[4], &step};
    };
    ema_adam(pointers(whole), settings);
    for (int64_t first = 0; first < count;) {
      const int64_t length = random_.between(1, std::min(count - first, count / 3 + 1));
      std::vector<HostTensor> pieces;
      for (HostTensor& part : parts) {
        pieces.emplace_back(dtype, Shape{length}, View{{1}, 0}, part, part.element(first));
      }
      ema_adam(pointers(pieces), settings);
      first += length;
    }
    for (size_t k = 0; k < 5; ++k) ASSERT_EQ(parts[k].all_bits(), whole[k].all_bits()) << "tensor " << k;
  }
}

TEST_F(Metamorphic, GroupsOfTheBiasGradientAreIndependent) {
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<int64_t> sizes = any_sizes(9, round % 4 == 0 ? 1500 : 150);
    const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    const HostTensor grad = random_tensor(random_, any_dtype(), {rows, random_.between(1, 70)});
    const HostTensor all = bias_grad(grad, sizes);
    // Some of the groups, in another order: their rows move, their results move with them.
    const std::vector<int64_t> parts = any_parts(sizes.size());
    const HostTensor some = bias_grad(gather(grad, 0, members(sizes, parts)), choose(sizes, parts));
    ASSERT_EQ(some.all_bits(), gather(all, 0, parts).all_bits());
  }
}

TEST_F(Metamorphic, RowsOfTheTableAreIndependent) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const int64_t rows = random_.between(1, 60), columns = random_.between(1, 70);
    const int64_t positions = random_.between(1, round % 4 == 0 ? 8000 : 300);
    const HostTensor indices = random_indices(random_, positions, rows);
    const std::vector<int64_t> order = random_order(random_, rows);  // new row w is old row order[w]
    HostTensor renamed(ACL_INT64, {positions});
    for (int64_t w = 0; w < rows; ++w) {
      for (int64_t n = 0; n < positions; ++n) {
        if (indices.bits(n) == static_cast<uint64_t>(order[static_cast<size_t>(w)]))
          renamed.set_bits(n, static_cast<uint64_t>(w));
      }
    }
    const HostTensor table = random_tensor(random_, dtype, {rows, columns});
    ASSERT_EQ(embedding(gather(table, 0, order), renamed).all_bits(), embedding(table, indices).all_bits());
    const HostTensor grad = random_tensor(random_, dtype, {positions, columns});
    const bool scale = random_.chance(2);
    ASSERT_EQ(embedding_backward(grad, renamed, rows, scale).all_bits(),
              gather(embedding_backward(grad, indices, rows, scale), 0, order).all_bits());
  }
}

TEST_F(Metamorphic, PositionsOfOtherRowsChangeNothing) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const int64_t rows = random_.between(1, 20), columns = random_.between(1, 40);
    const int64_t positions = random_.between(1, round % 4 == 0 ? 8000 : 300);
    const HostTensor indices = random_indices(random_, positions, rows);
    const HostTensor grad = random_tensor(random_, dtype, {positions, columns});
    const HostTensor table = random_tensor(random_, dtype, {rows, columns});
    // Keep the positions of one row.
    const int64_t row = random_.below(rows);
    std::vector<int64_t> kept;
    for (int64_t n = 0; n < positions; ++n) {
      if (indices.bits(n) == static_cast<uint64_t>(row)) kept.push_back(n);
    }
    if (kept.empty()) continue;
    const HostTensor own = gather(indices, 0, kept);
    ASSERT_EQ(embedding(table, own).all_bits(), gather(embedding(table, indices), 0, kept).all_bits());
    const bool scale = random_.chance(2);
    ASSERT_EQ(gather(embedding_backward(gather(grad, 0, kept), own, rows, scale), 0, {row}).all_bits(),
              gather(embedding_backward(grad, indices, rows, scale), 0, {row}).all_bits());
  }
}

TEST_F(Metamorphic, HeadsOfCompressionAreIndependent) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const Windows w = any_windows();
    const int64_t heads = random_.between(1, 7), width = random_.between(1, 40);
    const HostTensor input = random_tensor(random_, dtype, {w.tokens(), heads, width});
    const HostTensor weight = random_tensor(random_, dtype, {w.block, heads});
    const HostTensor output_grad = random_tensor(random_, dtype, {w.count(), heads, width});
    const std::vector<int64_t> parts = any_parts(static_cast<size_t>(heads));
    const auto some = [&](const HostTensor& tensor) { return gather(tensor, 1, parts); };
    ASSERT_EQ(nsa_compress(some(input), some(weight), w).all_bits(),
              some(nsa_compress(input, weight, w)).all_bits());
    const NsaGradients all = nsa_compress_grad(output_grad, input, weight, w);
    const NsaGradients own = nsa_compress_grad(some(output_grad), some(input), some(weight), w);
    ASSERT_EQ(own.input.all_bits(), some(all.input).all_bits());
    ASSERT_EQ(own.weight.all_bits(), some(all.weight).all_bits());
  }
}

// The gradient of the weights is a sum over all sequences, so only the other results are tested.
TEST_F(Metamorphic, SequencesOfCompressionAreIndependent) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const Windows w = any_windows();
    const int64_t heads = random_.between(1, 4), width = random_.between(1, 40);
    const HostTensor input = random_tensor(random_, dtype, {w.tokens(), heads, width});
    const HostTensor weight = random_tensor(random_, dtype, {w.block, heads});
    const HostTensor output_grad = random_tensor(random_, dtype, {w.count(), heads, width});
    const std::vector<int64_t> parts = any_parts(w.lengths.size());
    const Windows own = {choose(w.lengths, parts), w.block, w.step};
    if (own.count() == 0) continue;
    std::vector<int64_t> windows;
    for (const int64_t length : w.lengths) windows.push_back(w.of(length));
    const auto tokens_of = [&](const HostTensor& t) { return gather(t, 0, members(w.lengths, parts)); };
    const auto windows_of = [&](const HostTensor& t) { return gather(t, 0, members(windows, parts)); };
    ASSERT_EQ(nsa_compress(tokens_of(input), weight, own).all_bits(),
              windows_of(nsa_compress(input, weight, w)).all_bits());
    ASSERT_EQ(nsa_compress_grad(windows_of(output_grad), tokens_of(input), weight, own).input.all_bits(),
              tokens_of(nsa_compress_grad(output_grad, input, weight, w).input).all_bits());
  }
}

// Tokens behind the last sequence belong to no window.
TEST_F(Metamorphic, TokensOfNoSequenceChangeNothing) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = any_dtype();
    const Windows w = any_windows();
    const int64_t heads = random_.between(1, 4), width = random_.between(1, 40);
    const HostTensor longer = random_tensor(random_, dtype, {w.tokens() + 37, heads, width});
    std::vector<int64_t> tokens(static_cast<size_t>(w.tokens()));
    std::iota(tokens.begin(), tokens.end(), int64_t{0});
    const HostTensor input = gather(longer, 0, tokens);
    const HostTensor weight = random_tensor(random_, dtype, {w.block, heads});
    const HostTensor output_grad = random_tensor(random_, dtype, {w.count(), heads, width});
    ASSERT_EQ(nsa_compress(longer, weight, w).all_bits(), nsa_compress(input, weight, w).all_bits());
    const NsaGradients all = nsa_compress_grad(output_grad, longer, weight, w);
    const NsaGradients own = nsa_compress_grad(output_grad, input, weight, w);
    ASSERT_EQ(gather(all.input, 0, tokens).all_bits(), own.input.all_bits());
    ASSERT_EQ(all.weight.all_bits(), own.weight.all_bits());
    for (int64_t i = own.input.numel(); i < all.input.numel(); ++i) ASSERT_EQ(all.input.bits(i), 0u);
  }
}

// Within the normal range a power of two passes through every rounding. FLOAT16 has too small a range for sums that cancel.
TEST_F(Metamorphic, PowersOfTwoPassThroughLinearOperators) {
  for (int round = 0; round < kRounds; ++round) {
    const aclDataType dtype = round % 2 == 0 ? ACL_FLOAT : ACL_BF16;
    const auto exponent = static_cast<int>(random_.between(-40, 40));
    const auto scaled = [&](const HostTensor& tensor) {
      return map(tensor, [&](double value) { return std::ldexp(value, exponent); });
    };
    const int64_t columns = random_.between(1, 40);

    const std::vector<int64_t> sizes = any_sizes(5, 700);
    const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    const HostTensor bias = random_tensor(random_, dtype, {rows, columns});
    ASSERT_EQ(bias_grad(scaled(bias), sizes).all_bits(), scaled(bias_grad(bias, sizes)).all_bits());

    const HostTensor grad = random_tensor(random_, dtype, {900, columns});
    const HostTensor indices = random_indices(random_, 900, random_.between(1, 30));
    for (const bool scale : {false, true}) {
      ASSERT_EQ(embedding_backward(scaled(grad), indices, 30, scale).all_bits(),
                scaled(embedding_backward(grad, indices, 30, scale)).all_bits());
    }

    const Windows w = any_windows();
    const HostTensor input = random_tensor(random_, dtype, {w.tokens(), 2, columns});
    const HostTensor weight = random_tensor(random_, dtype, {w.block, 2});
    const HostTensor output_grad = random_tensor(random_, dtype, {w.count(), 2, columns});
    const HostTensor output = scaled(nsa_compress(input, weight, w));
    ASSERT_EQ(nsa_compress(scaled(input), weight, w).all_bits(), output.all_bits());
    ASSERT_EQ(nsa_compress(input, scaled(weight), w).all_bits(), output.all_bits());
    const NsaGradients plain = nsa_compress_grad(output_grad, input, weight, w);
    const NsaGradients by_grad = nsa_compress_grad(scaled(output_grad), input, weight, w);
    const NsaGradients by_input = nsa_compress_grad(output_grad, scaled(input), weight, w);
    const NsaGradients by_weight = nsa_compress_grad(output_grad, input, scaled(weight), w);
    ASSERT_EQ(by_grad.input.all_bits(), scaled(plain.input).all_bits());
    ASSERT_EQ(by_grad.weight.all_bits(), scaled(plain.weight).all_bits());
    ASSERT_EQ(by_input.input.all_bits(), plain.input.all_bits());
    ASSERT_EQ(by_input.weight.all_bits(), scaled(plain.weight).all_bits());
    ASSERT_EQ(by_weight.input.all_bits(), scaled(plain.input).all_bits());
    ASSERT_EQ(by_weight.weight.all_bits(), plain.weight.all_bits());
  }
}

}  // namespace
}  // namespace openaclnn_test::calls
