// Shapes for paths of the CUDA kernels that the cases of the rooms do not reach: the bits of the CPU's kernels, whatever the order of
// threads.
#include <gtest/gtest.h>

#include "kernels.h"
#include "ops/embedding_dense_backward/cases.h"
#include "ops/grouped_bias_add_grad/cases.h"
#include "ops/nsa_compress_grad/cases.h"
#include "ops/room_cases.h"

namespace openaclnn_test {
namespace {

using openaclnn::CheckMode;
using openaclnn::PlatformKind;

constexpr aclDataType kFloats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

// All indices are equal, and rows are wide: the chunks of one sum are shared out to many blocks, each of which has other rows as well.
TEST(KernelsOfEmbeddingBackward, AddOneWideRowInManyBlocks) {
  const Spoil equal_indices = [](const Case&, std::vector<HostTensor>& tensors) {
    for (int64_t i = 0; i < tensors[kIndices].numel(); ++i) tensors[kIndices].set_bits(i, 77);
  };
  for (const aclDataType dtype : kFloats) {
    const Case c = backward_case(dtype, dtype, ACL_INT32, {2148}, 520, {.table_rows = 200, .scale = true},
                                 Layout::contiguous, std::string(dtype_name(dtype)) + " with equal indices");
    ASSERT_EQ(difference(c, CheckMode::report, equal_indices), "") << c.name;
  }
}

// Groups of few chunks are joined by a warp each, those of more than 32 by a block: both beside each other, at their limits.
TEST(KernelsOfGroupedBias, JoinFewAndManyChunks) {
  const std::vector<int64_t> sizes = {3,  600, 16384, 513, 16385, 0,   1,    512, 513,  514,
                                      77, 513, 900,   513, 1500,  513, 5000, 513, 17000};
  for (const aclDataType dtype : kFloats) {
    const Case c = bias_case(dtype, ACL_INT64, {.grouped = true, .index_type = 1}, {sizes, 41},
                             Layout::contiguous, std::string(dtype_name(dtype)) + " of few and many chunks");
    ASSERT_EQ(difference(c, CheckMode::report), "") << c.name;
  }
}

// A thread sums up to 16 taps and loads 8 together: all the ways in which the last ones can be fewer.
TEST(KernelsOfCompressGrad, SumAnyNumberOfTaps) {
  for (const aclDataType dtype : kFloats) {
    for (const int64_t taps : {1, 2, 7, 8, 9, 11, 15, 16, 17, 25, 31}) {
      const Case c = compress_grad_case(dtype, {70, 2, 24}, {taps, 5, {}, 0, false}, Layout::contiguous,
                                        dtype_name(dtype) + std::string(" of ") + std::to_string(taps));
      ASSERT_EQ(difference(c, CheckMode::report), "") << c.name;
      const KernelRun run = run_kernel(c, {.platform = PlatformKind::cuda});
      Judge judge;
      judge_case(c, before_call(c, make_tensors(c)), run.tensors, judge);
      ASSERT_TRUE(judge.ok()) << c.name << ": " << judge.messages();
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
