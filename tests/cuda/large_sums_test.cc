// Sums of rows that are large enough for the persistent blocks of a real GPU (cuda/row_units.cuh), which no case
// of the room is. An oracle adds the rows in the library's order, one by one.
#include <gtest/gtest.h>

#include <vector>

#include "ops/grouped_bias_add_grad/verify/cases.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

#if defined(OPENACLNN_REAL_CUDA)
constexpr int64_t kRows = 9'300,
                  kColumns = 4'104;  // over 300 superblocks and strips, for 132 multiprocessors
#else
constexpr int64_t kRows = 1'300, kColumns = 520;  // the emulation has fewer and is slower
#endif
constexpr int64_t kTermsOfBlock = 64, kTermsOfSuperblock = 512;

// Sums of one group, a value for each column.
std::vector<double> sums_of(const HostTensor& grad, int64_t begin, int64_t end) {
  const auto columns = static_cast<size_t>(kColumns);
  std::vector<float> block(columns), superblock(columns);
  std::vector<double> total(columns);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t terms = row + 1 - begin;
    const bool ends_block = terms % kTermsOfBlock == 0 || row + 1 == end;
    const bool ends_superblock = terms % kTermsOfSuperblock == 0 || row + 1 == end;
    for (size_t c = 0; c < columns; ++c) {
      block[c] += static_cast<float>(grad.get(row * kColumns + static_cast<int64_t>(c)));
      if (!ends_block) continue;
      superblock[c] += block[c];
      block[c] = 0;
      if (!ends_superblock) continue;
      total[c] += static_cast<double>(superblock[c]);
      superblock[c] = 0;
    }
  }
  for (double& sum : total) sum = static_cast<double>(static_cast<float>(sum));
  return total;
}

void expect_the_oracles_bits(aclDataType dtype, const std::vector<int64_t>& sizes) {
  const BiasAttributes attributes = {.grouped = true, .index_type = 1};
  const Case c =
      bias_case(dtype, ACL_INT64, attributes, {sizes, kColumns}, Layout::contiguous, dtype_name(dtype));
  const std::vector<HostTensor> tensors = make_tensors(c);
  ASSERT_TRUE(succeeded(run_case(c, tensors)));
  int64_t begin = 0;
  for (size_t j = 0; j < sizes.size(); ++j) {
    const std::vector<double> expected = sums_of(tensors[kBiasGradY], begin, begin + sizes[j]);
    begin += sizes[j];
    for (size_t k = 0; k < expected.size(); ++k) {
      const auto at = static_cast<int64_t>(j * expected.size() + k);
      ASSERT_EQ(tensors[bias_out(attributes)].bits(at), encode(dtype, expected[k]))
          << c.name << ", group " << j << ", column " << k;
    }
  }
}

TEST(LargeSums, HaveTheOraclesBits) {
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    expect_the_oracles_bits(dtype, {3, kRows, 0, 64, 129, 1, 0, 513});
    expect_the_oracles_bits(dtype, {kRows / 4, kRows / 4, kRows / 4, kRows / 4});
  }
}

}  // namespace
}  // namespace openaclnn_test
