// Tests paths of the CUDA kernels that the rooms' cases do not reach: the bits equal those of the CPU's
// kernels, in any order of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "kernels.h"
#include "ops/embedding_dense_backward/verify/cases.h"
#include "ops/grouped_bias_add_grad/verify/cases.h"
#include "ops/nsa/compress_grad/verify/cases.h"
#include "support/verify.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

using openaclnn::CheckMode;
using openaclnn::PlatformKind;

// Sanitizers take many times as long, so they get one dtype of each shape and one fault of each kind.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kThorough = false;
#else
constexpr bool kThorough = true;
#endif

// The dtypes of the nth shape.
std::vector<aclDataType> dtypes_of(size_t n) {
  if (!kThorough) return {kFloatDtypes[n % std::size(kFloatDtypes)]};
  return {std::begin(kFloatDtypes), std::end(kFloatDtypes)};
}

// All indices are equal, and rows are wide: the chunks of one sum are distributed over many blocks, each of
// which also has other rows.
TEST(KernelsOfEmbeddingBackward, AddOneWideRowInManyBlocks) {
  const Spoil equal_indices = [](const Case&, std::vector<HostTensor>& tensors) {
    for (int64_t i = 0; i < tensors[kIndices].numel(); ++i) tensors[kIndices].set_bits(i, 77);
  };
  for (const aclDataType dtype : kFloatDtypes) {
    const Case c = backward_case(dtype, dtype, ACL_INT32, {2148}, 520, {.table_rows = 200, .scale = true},
                                 Layout::contiguous, std::string(dtype_name(dtype)) + " with equal indices");
    ASSERT_EQ(difference(c, CheckMode::report, equal_indices), "") << c.name;
  }
}

// A warp joins a group of few chunks, a block one of more than 32. Both occur side by side, at their
// limits.
TEST(KernelsOfGroupedBias, JoinFewAndManyChunks) {
  const std::vector<int64_t> sizes = {3,  600, 16384, 513, 16385, 0,   1,    512, 513,  514,
                                      77, 513, 900,   513, 1500,  513, 5000, 513, 17000};
  for (const aclDataType dtype : kFloatDtypes) {
    const Case c = bias_case(dtype, ACL_INT64, {.grouped = true, .index_type = 1}, {sizes, 41},
                             Layout::contiguous, std::string(dtype_name(dtype)) + " of few and many chunks");
    ASSERT_EQ(difference(c, CheckMode::report), "") << c.name;
  }
}

// Persistent blocks sum rows of one strip and more, if groups have a block of terms on average. With one
// multiprocessor, two blocks take all units: most of them from the counter.
struct UnitShape {
  const char* name;
  BiasShape shape;
};

std::vector<int64_t> repeated(int64_t count, int64_t size) {
  return std::vector<int64_t>(static_cast<size_t>(count), size);
}

// More superblocks than threads in the first 256 groups, and more groups.
std::vector<int64_t> many_sizes() {
  std::vector<int64_t> sizes = repeated(255, 65);
  for (const int64_t size : {1025, 3, 0, 700, 64}) sizes.push_back(size);
  return sizes;
}

std::vector<UnitShape> unit_shapes() {
  return {{"equal groups", {repeated(4, 600), 512}},
          {"groups of one superblock", {repeated(4, 512), 256}},
          {"one large group", {{3, 9300, 1}, 264}},
          {"empty groups", {{0, 0, 700, 0, 65, 0, 0, 64, 1100, 0}, 512}},
          {"empty groups alone", {repeated(17, 0), 256, 1500}},
          {"short groups", {bias_sizes(33, 64, 5), 520, 1200}},
          {"groups of many sizes", {{1, 64, 65, 128, 129, 511, 512, 513, 576, 1024, 1025}, 776}},
          {"many groups", {many_sizes(), 256}},
          {"an incomplete strip", {{900, 7, 513}, 1288}},
          {"rows that are not packed", {{900, 7, 513}, 1289}},
          {"rows of less than a strip", {{900, 7, 513}, 120}},
          {"groups that are too short", {bias_sizes(40, 100, 7), 512}}};
}

TEST(KernelsOfGroupedBias, SumUnitsOfAnyGroups) {
  size_t turn = 0;
  int64_t calls = 0;
  for (const UnitShape& unit : unit_shapes()) {
    for (const aclDataType dtype : dtypes_of(turn++)) {
      const int64_t index_type = calls++ % 2;
      const Case c = bias_case(dtype, index_type == 0 ? ACL_INT64 : ACL_INT32,
                               {.grouped = true, .index_type = index_type}, unit.shape, Layout::contiguous,
                               dtype_name(dtype) + std::string(" of ") + unit.name);
      ASSERT_EQ(difference(c, CheckMode::report), "") << c.name;
    }
  }
}

// The least and greatest numbers as the first group, and in the first and the second round of groups.
TEST(KernelsOfGroupedBias, SumNoUnitsAfterFaults) {
  for (const int64_t index_type : {0, 1}) {
    const Case c = bias_case(ACL_FLOAT, ACL_INT64, {.grouped = true, .index_type = index_type},
                             {many_sizes(), 128}, Layout::contiguous, "with faults");
    for (const int64_t faulty : {0, 200, 258}) {
      for (const int64_t entry : {INT64_MIN, INT64_MAX}) {
        if (!kThorough && (faulty != 258 || (index_type == 0) != (entry == INT64_MIN))) continue;
        const Spoil spoil = [=](const Case&, std::vector<HostTensor>& tensors) {
          tensors[kBiasGroups].set_bits(faulty, static_cast<uint64_t>(entry));
        };
        ASSERT_EQ(difference(c, CheckMode::report, spoil), "") << c.name << ", " << faulty << ", " << entry;
      }
    }
  }
}

void expect_gradients(const Case& c) {
  KernelRun run;
  ASSERT_EQ(difference(c, CheckMode::report, nullptr, &run), "") << c.name;
  Judge judge;
  judge_case(c, before_call(c, make_tensors(c)), run.tensors, judge);
  ASSERT_TRUE(judge.ok()) << c.name << ": " << judge.messages();
}

// A thread sums the taps of 8 or 16 phases in 4 or 2 windows: all the ways in which the last ones can be fewer.
TEST(KernelsOfCompressGrad, SumAnyNumberOfTaps) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t taps : {1, 2, 7, 8, 9, 11, 15, 16, 17, 25, 31}) {
      expect_gradients(compress_grad_case(dtype, {70, 2, 24}, {taps, 5, {}, 0, false}, Layout::contiguous,
                                          dtype_name(dtype) + std::string(" of ") + std::to_string(taps)));
    }
  }
}

// Segments of a stride that groups of phases do not divide, windows that end inside a segment or before its
// end, more windows than a group has, several sequences in a range and ranges of one, more and fewer heads
// than a block takes.
const WindowAttributes kWalks[] = {
    {33, 16, {33, 37, 137}, 0},    {40, 37, {40, 41, 40, 119}, 1}, {13, 40, {13, 13, 60, 154}, 1},
    {48, 16, {}, 0, false},        {61, 20, {61, 62, 81, 36}, 0},  {70, 9, {69, 70, 101}, 1},
    {40, 3, {43, 44, 40, 100}, 1}, {33, 8, {}, 0, false},          {3, 1, {3, 3, 4, 5, 60, 165}, 1}};

Case gradient_case(aclDataType dtype, const Shape& input_dims, const WindowAttributes& a) {
  return compress_grad_case(dtype, input_dims, a, Layout::contiguous,
                            dtype_name(dtype) + std::string(" of ") + std::to_string(a.block_size) +
                                " every " + std::to_string(a.stride) + ", heads " +
                                std::to_string(input_dims[1]));
}

std::vector<std::pair<WindowAttributes, Shape>> walks() {
  std::vector<std::pair<WindowAttributes, Shape>> shapes;
  for (const WindowAttributes& a : kWalks) {
    for (const Shape& input_dims : {Shape{240, 3, 24}, {240, 35, 40}}) shapes.emplace_back(a, input_dims);
  }
  return shapes;
}

TEST(KernelsOfCompressGrad, WalkSegmentsOfAnyShape) {
  size_t turn = 0;
  for (const auto& [a, input_dims] : walks()) {
    for (const aclDataType dtype : dtypes_of(turn++)) expect_gradients(gradient_case(dtype, input_dims, a));
  }
}

// What decides how the tokens' gradients are summed: windows over a token (one to four, or more), whether the
// stride divides them, the packs and heads of a block, and the weights that fit into shared memory. Sequences
// without windows, tokens before and behind all windows, and a last block of few tokens.
struct FewWindows {
  Shape input_dims;
  WindowAttributes attributes;
};
const FewWindows kFewWindows[] = {
    {{100, 2, 128}, {16, 16, {100}, 1}},                // one or two warps to a token
    {{100, 16, 128}, {32, 16, {}, 0, false}},           // whole blocks
    {{197, 16, 128}, {64, 16, {9, 70, 66, 3, 40}, 1}},  // sequences without windows
    {{135, 5, 136}, {48, 16, {61, 59}, 0}},             // blocks that share a head, and a part of a block
    {{135, 5, 136}, {64, 16, {61, 69}, 0}},
    {{135, 5, 136}, {80, 16, {135}, 0}},   // five windows
    {{70, 5, 136}, {28, 7, {28, 41}, 1}},  // segments of a few tokens and a rest
    {{70, 33, 16}, {9, 3, {4, 9, 10, 40}, 1}},
    {{40, 20, 24}, {4, 1, {5, 35}, 0}},  // segments of one token
    {{40, 20, 24}, {3, 1, {40}, 0}},
    {{40, 20, 24}, {2, 1, {}, 0, false}},
    {{40, 20, 24}, {5, 1, {40}, 0}},  // five windows
    {{15, 9, 64}, {5, 5, {15}, 0}},   // fewer tokens than a block has
    {{60, 9, 64}, {40, 20, {60}, 0}},
    {{60, 9, 64}, {41, 20, {60}, 0}},           // a stride that does not divide the block size
    {{50, 100, 8}, {6, 3, {6, 24, 20}, 0}},     // nearly as many weights as fit in 16 bits, ...
    {{50, 100, 8}, {8, 4, {50}, 0}},            // ... and more
    {{400, 4, 128}, {304, 152, {}, 0, false}},  // the same in fp32
    {{400, 4, 128}, {340, 170, {}, 0, false}},
};

std::vector<Case> few_windows() {
  std::vector<Case> cases;
  size_t turn = 0;
  for (const auto& [input_dims, a] : kFewWindows) {
    for (const aclDataType dtype : dtypes_of(turn++)) cases.push_back(gradient_case(dtype, input_dims, a));
  }
  return cases;
}

TEST(KernelsOfCompressGrad, SumFewWindowsOfAnyShape) {
  for (const Case& c : few_windows()) {
    expect_gradients(c);
    set_reversed_schedule(true);  // difference() reverses it for other addresses, which are not packed
    const KernelRun reversed = run_kernel(c, {.platform = PlatformKind::cuda});
    set_reversed_schedule(false);
    ASSERT_EQ(difference(c, run_kernel(c, {}), reversed), "") << c.name;
  }
}

// A window that does not exist, and a weight behind a window's last, are not multiplied by anything.
TEST(KernelsOfCompressGrad, KeepInfiniteWeightsInTheirWindows) {
  const Spoil spoil = [](const Case&, std::vector<HostTensor>& tensors) {
    constexpr double kValues[] = {INFINITY, NAN, -0.0, -INFINITY, 0.0};
    for (const auto& [which, every] : {std::pair(kCgOutputGrad, 101), {kCgWeight, 7}}) {
      for (int64_t i = 0; i < tensors[which].numel(); i += every)
        tensors[which].set(i, kValues[i / every % std::ssize(kValues)]);
    }
  };
  for (const Case& c : few_windows()) ASSERT_EQ(difference(c, CheckMode::report, spoil), "") << c.name;
}

// Only weights that meet infinite tokens become infinite or NaN, also at the ends of windows.
TEST(KernelsOfCompressGrad, KeepInfiniteTokensInTheirWindows) {
  const auto kind = [](double x) { return std::isnan(x) ? 2 : std::isinf(x) ? std::copysign(1, x) : 0; };
  for (const int64_t every : {31, 239}) {
    const Spoil spoil = [every](const Case&, std::vector<HostTensor>& tensors) {
      HostTensor& input = tensors[kCgInput];
      const int64_t row = input.dims()[1] * input.dims()[2];
      for (int64_t token = every; token < input.dims()[0]; token += every)
        input.set(token * row + token % row, INFINITY);
    };
    for (const auto& [a, input_dims] : walks()) {
      const Case c = gradient_case(ACL_BF16, input_dims, a);
      const KernelRun cpu = run_kernel(c, {.spoil = spoil});
      const KernelRun cuda = run_kernel(c, {.platform = PlatformKind::cuda, .spoil = spoil});
      const HostTensor &wanted = cpu.tensors[kCgWeightGrad], &got = cuda.tensors[kCgWeightGrad];
      for (int64_t i = 0; i < wanted.dims()[0] * wanted.dims()[1]; ++i)
        ASSERT_EQ(kind(got.get(i)), kind(wanted.get(i))) << c.name << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
