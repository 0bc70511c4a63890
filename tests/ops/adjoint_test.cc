// An operator A and the operator of its gradient satisfy <y, A x> = <A' y, x>. Both sides are computed in long double from rounded
// results, so they may differ by what the promised error bounds allow, and by no more.
#include <gtest/gtest.h>

#include <cmath>

#include "operator_calls.h"
#include "support/number.h"

namespace openaclnn_test::calls {
namespace {

constexpr int kRounds = 30;

HostTensor magnitudes(const HostTensor& tensor) {
  return map(tensor, [](double value) { return std::fabs(value); });
}

// <factor, result>, and how far the promise of `result` lets it be from the exact product. `sums` holds the sums of magnitudes S,
// made by the same operator from magnitudes and thus a little wrong themselves.
struct Product {
  long double value = 0, slack = 0;
};
Product product(const HostTensor& factor, const HostTensor& result, const HostTensor& sums, long double c) {
  Product made;
  for (int64_t i = 0; i < result.numel(); ++i) {
    const long double y = result.get(i);
    made.value += factor.get(i) * y;
    made.slack += std::fabs(factor.get(i)) * allowed_error(result.dtype(), y, c, 1.01L * sums.get(i));
  }
  return made;
}

void expect_adjoint(const Product& forward, const Product& backward) {
  ASSERT_TRUE(std::isfinite(forward.value) && std::isfinite(backward.value));
  EXPECT_LE(std::fabs(forward.value - backward.value), forward.slack + backward.slack)
      << "<y, A x> = " << forward.value << ", <A' y, x> = " << backward.value;
}

// c of a sum of any number of terms in the common order of additions.
constexpr long double kOrderedSum = 72;

class Adjoint : public testing::TestWithParam<aclDataType> {
 protected:
  Random random_{test_seed()};
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_text()};

  HostTensor tensor(const Shape& dims) { return random_tensor(random_, GetParam(), dims, -4, 1); }
};

TEST_P(Adjoint, TableLookUp) {
  for (int round = 0; round < kRounds; ++round) {
    const int64_t rows = random_.between(1, 50), columns = random_.between(1, 40);
    const int64_t positions = random_.between(1, 900);
    const HostTensor x = tensor({rows, columns}), y = tensor({positions, columns});
    const HostTensor indices = random_indices(random_, positions, rows);
    const HostTensor copied = embedding(x, indices);
    Product forward;  // of copies, which are exact
    for (int64_t i = 0; i < y.numel(); ++i)
      forward.value += static_cast<long double>(y.get(i)) * copied.get(i);
    expect_adjoint(forward, product(x, embedding_backward(y, indices, rows),
                                    embedding_backward(magnitudes(y), indices, rows), kOrderedSum));
  }
}

// The forward operator adds the bias of its group to each row; without the addend it copies the bias.
TEST_P(Adjoint, GroupedBias) {
  for (int round = 0; round < kRounds; ++round) {
    std::vector<int64_t> sizes(static_cast<size_t>(random_.between(1, 9)));
    for (int64_t& size : sizes) size = random_.below(300);
    const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    const int64_t columns = random_.between(1, 40);
    const HostTensor x = tensor({static_cast<int64_t>(sizes.size()), columns}), y = tensor({rows, columns});
    Product forward;
    int64_t row = 0;
    for (size_t group = 0; group < sizes.size(); ++group) {
      for (const int64_t end = row + sizes[group]; row < end; ++row) {
        for (int64_t c = 0; c < columns; ++c) {
          forward.value += static_cast<long double>(y.get(row * columns + c)) *
                           x.get(static_cast<int64_t>(group) * columns + c);
        }
      }
    }
    expect_adjoint(forward, product(x, bias_grad(y, sizes), bias_grad(magnitudes(y), sizes), kOrderedSum));
  }
}

TEST_P(Adjoint, Compression) {
  for (int round = 0; round < kRounds; ++round) {
    Windows w = {{}, random_.between(1, 40), random_.between(1, 24)};
    for (int64_t b = random_.between(1, 5); b > 0; --b) w.lengths.push_back(random_.below(2 * w.block + 60));
    w.lengths.push_back(w.block + random_.below(60));
    const int64_t heads = random_.between(1, 4), width = random_.between(1, 30);
    const HostTensor input = tensor({w.tokens(), heads, width}), weight = tensor({w.block, heads});
    const HostTensor y = tensor({w.count(), heads, width});
    const HostTensor input_size = magnitudes(input), weight_size = magnitudes(weight);
    const Product forward =
        product(y, nsa_compress(input, weight, w), nsa_compress(input_size, weight_size, w), kOrderedSum + 1);
    const NsaGradients gradients = nsa_compress_grad(y, input, weight, w);
    const NsaGradients sums = nsa_compress_grad(magnitudes(y), input_size, weight_size, w);
    // Linear in the tokens, and linear in the weights.
    const auto windows_of_a_token = static_cast<long double>((w.block + w.step - 1) / w.step);
    expect_adjoint(forward, product(input, gradients.input, sums.input, windows_of_a_token + 1));
    expect_adjoint(forward, product(weight, gradients.weight, sums.weight, 260));
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Adjoint, testing::ValuesIn(kFloatDtypes),
                         [](const auto& dtype) { return std::string(dtype_name(dtype.param)); });

}  // namespace
}  // namespace openaclnn_test::calls
