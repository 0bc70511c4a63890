// Calls that crashed, hung or silently corrupted other libraries in these and closely related operators,
// with published reports. Here each ends in one code, one error message and intact memory, and the same
// stream continues to work.
#include <gtest/gtest.h>

#include <limits>

#include "ops/attempt.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test::calls {
namespace {

Attempt backward(HostTensor& grad, HostTensor& indices, HostTensor& out, uint64_t rows, bool scale,
                 uint64_t padding_row = ~uint64_t{0}) {
  return Attempt(
      {&grad, &indices, &out},
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingDenseBackwardGetWorkspaceSize(t[0], t[1], rows, padding_row, scale, t[2], bytes,
                                                           executor);
      },
      aclnnEmbeddingDenseBackward);
}

Attempt look_up(HostTensor& table, HostTensor& indices, HostTensor& out) {
  return Attempt(
      {&table, &indices, &out},
      [](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(t[0], t[1], t[2], bytes, executor);
      },
      aclnnEmbedding);
}

// ---- indices ----

struct BadIndex {
  const char* peers;  // the effect in other libraries
  aclDataType dtype;
  uint64_t bits;
};
uint64_t bits_of(int64_t value) { return static_cast<uint64_t>(value); }
const BadIndex kBadIndices[] = {
    {"one beyond the table: device-side assert that ends the CUDA context (pytorch 29966)", ACL_INT64, 5},
    {"10^17: SIGSEGV on CPUs (pytorch 145267)", ACL_INT64, 100000000000000000},
    {"1250999896764: SIGSEGV with scaled frequencies (pytorch 143482)", ACL_INT64, 1250999896764},
    {"-1: read before the table, or counted from the end", ACL_INT64, bits_of(-1)},
    {"-536871000: a write outside, SIGSEGV (pytorch 142837)", ACL_INT64, bits_of(-536871000)},
    {"-128 as in a signed byte stream (pytorch 71094)", ACL_INT8, bits_of(-128)},
    {"INT64_MIN: its negation overflows", ACL_INT64, bits_of(INT64_MIN)},
    {"INT64_MAX: index * width overflows", ACL_INT64, bits_of(INT64_MAX)},
    {"2^32 + 1: right after truncation to 32 bits", ACL_INT64, (uint64_t{1} << 32) + 1},
    {"INT32_MIN", ACL_INT32, bits_of(INT32_MIN)},
    {"NaN as an index: conversion is undefined behaviour", ACL_FLOAT, 0x7FC00000},
    {"infinity as an index", ACL_FLOAT, 0x7F800000},
    {"-infinity as an index", ACL_DOUBLE, 0xFFF0000000000000},
    {"a signalling NaN", ACL_FLOAT16, 0x7D01},
    {"10^300: beyond every integer", ACL_DOUBLE, 0x7E37E43C8800759C}};

TEST(PeersCrashes, IndicesOutsideTheTable) {
  for (const BadIndex& bad : kBadIndices) {
    for (const bool scale : {false, true}) {
      for (const aclDataType dtype : kFloatDtypes) {
        SCOPED_TRACE(std::string(bad.peers) + (scale ? ", scaled" : ""));
        HostTensor grad(dtype, {3, 4}), indices(bad.dtype, {3}), out(dtype, {5, 4});
        grad.fill({1, 2, 3, 4});
        for (int64_t i = 0; i < 3; ++i) indices.set(i, 2);
        indices.set_bits(1, bad.bits);
        const Attempt attempt = backward(grad, indices, out, 5, scale);
        EXPECT_TRUE(attempt.ended(kFault, "indices[1] = "));
        EXPECT_TRUE(attempt.ended(kFault, "is outside [0, 5); 1 of 3 indices"));
        EXPECT_FALSE(attempt.changed[0] || attempt.changed[1]);
        // Exact over the valid indices: two terms, or their mean.
        for (int64_t i = 0; i < 20; ++i)
          EXPECT_EQ(out.get(i), i / 4 != 2 ? 0 : static_cast<double>(i % 4 + 1) * (scale ? 1 : 2));
      }
    }
    if (bad.dtype != ACL_INT32 && bad.dtype != ACL_INT64) continue;
    SCOPED_TRACE(bad.peers);
    HostTensor table(ACL_FLOAT, {5, 2}), indices(bad.dtype, {3}), out(ACL_FLOAT, {3, 2});
    table.fill({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    for (int64_t i = 0; i < 3; ++i) indices.set(i, 4);
    indices.set_bits(1, bad.bits);
    EXPECT_TRUE(look_up(table, indices, out).ended(kFault, "indices[1] = "));
    EXPECT_EQ(out.get(0), 9);
    EXPECT_EQ(out.get(2), 0) << "the row of a wrong index is zero";
    EXPECT_EQ(out.get(5), 10);
  }
  expect_stream_works();
}

TEST(PeersCrashes, FloatingIndicesOfALookUpAreRefused) {
  for (const aclDataType dtype : kFloatDtypes) {
    HostTensor table(ACL_FLOAT, {5, 2}), indices(dtype, {3}), out(ACL_FLOAT, {3, 2});
    EXPECT_TRUE(look_up(table, indices, out).ended(kInvalid, "indices"));
  }
}

// A padding index beyond the table excludes nothing; as a row it would be written (pytorch 145267 passes -4611686018427387905).
TEST(PeersCrashes, PaddingOutsideTheTable) {
  for (const uint64_t padding :
       {uint64_t{5}, bits_of(-4611686018427387905), bits_of(INT64_MIN), UINT64_MAX}) {
    HostTensor grad(ACL_FLOAT, {2, 1}), indices(ACL_INT64, {2}), out(ACL_FLOAT, {5, 1});
    grad.fill({1, 2});
    indices.fill({0, 4});
    const Attempt attempt = backward(grad, indices, out, 5, true, padding);
    EXPECT_EQ(attempt.code(), 0) << attempt.outcome.text();
    EXPECT_EQ(out.get(0), 1);
    EXPECT_EQ(out.get(4), 2);
  }
}

// ---- empty tensors ----

struct EmptyBackward {
  const char* peers;
  Shape grad, indices, out;
};
const EmptyBackward kEmptyBackwards[] = {
    {"rows of width 0: null read in a kernel (pytorch 189668)", {3, 0}, {3}, {10, 0}},
    {"no rows of grad: launch of 0 blocks, CUDA error 9 (Paddle 78243)", {0, 4}, {0}, {10, 4}},
    {"an empty batch of a shape: the same", {0, 3, 4}, {0, 3}, {10, 4}},
    {"a table of 0 rows and no index: SIGSEGV (pytorch 142837)", {0, 4}, {0}, {0, 4}}};

TEST(PeersCrashes, EmptyTensors) {
  for (const EmptyBackward& empty : kEmptyBackwards) {
    for (const bool scale : {false, true}) {
      SCOPED_TRACE(std::string(empty.peers) + (scale ? ", scaled" : ""));
      HostTensor grad(ACL_FLOAT, empty.grad), indices(ACL_INT64, empty.indices), out(ACL_FLOAT, empty.out);
      for (int64_t i = 0; i < indices.numel(); ++i) indices.set(i, 0);
      const Attempt attempt = backward(grad, indices, out, static_cast<uint64_t>(empty.out[0]), scale);
      EXPECT_EQ(attempt.code(), 0) << attempt.outcome.text();
      for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.bits(i), 0u);
    }
  }
  // A table without rows accepts no index: every index is outside.
  HostTensor table(ACL_FLOAT, {0, 4}), indices(ACL_INT64, {1}), out(ACL_FLOAT, {1, 4});
  indices.set(0, 0);
  EXPECT_TRUE(look_up(table, indices, out).ended(kFault, "indices[0] = 0 is outside [0, 0)"));
  expect_stream_works();
}

// ---- group ends: peers trust them and compute addresses from their differences (torch-xpu-ops 3172, cutlass 1543) ----

struct BadGroups {
  const char* what;
  int64_t index_type;  // 0: ends, 1: sizes
  std::vector<int64_t> entries;
};
const BadGroups kBadGroups[] = {
    {"decreasing ends: a negative number of rows", 0, {3, 1, 6}},
    {"a negative end: rows before the tensor", 0, {-2, 3, 6}},
    {"an end beyond the rows", 0, {2, 3, 7}},
    {"2^32 + 5: right after truncation to 32 bits", 0, {2, 3, (int64_t{1} << 32) + 5}},
    {"INT64_MAX", 0, {2, 3, INT64_MAX}},
    {"INT64_MIN", 0, {INT64_MIN, 3, 6}},
    {"a negative size", 1, {3, -1, 4}},
    {"sizes beyond the rows", 1, {3, 2, 2}},
    {"sizes whose sum passes 2^63", 1, {2, INT64_MAX, INT64_MAX}},
    {"sizes whose sum comes back to the rows in 32 bits", 1, {int64_t{1} << 32, 2, 4}}};

TEST(PeersCrashes, GroupEndsThatAreNone) {
  for (const BadGroups& bad : kBadGroups) {
    for (const aclDataType dtype : kFloatDtypes) {
      SCOPED_TRACE(bad.what);
      HostTensor grad(dtype, {6, 3}), groups(ACL_INT64, {3}), out(dtype, {3, 3});
      for (int64_t i = 0; i < grad.numel(); ++i) grad.set(i, 1);
      for (size_t k = 0; k < 3; ++k) groups.set_bits(static_cast<int64_t>(k), bits_of(bad.entries[k]));
      const Attempt attempt(
          {&grad, &groups, &out},
          [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
            return aclnnGroupedBiasAddGradV2GetWorkspaceSize(t[0], t[1], bad.index_type, t[2], bytes,
                                                             executor);
          },
          aclnnGroupedBiasAddGradV2);
      EXPECT_TRUE(attempt.ended(kFault, "groupIdx"));
      EXPECT_FALSE(attempt.changed[2]) << "out was written to";
    }
  }
  expect_stream_works();
}

// ---- windows: step 0 ends unfold_backward with SIGFPE (pytorch 142462, 146791) ----

TEST(PeersCrashes, WindowsThatAreNone) {
  struct Windows {
    int64_t block, step;
  };
  for (const Windows& windows : {Windows{4, 0}, Windows{4, -1}, Windows{4, INT64_MIN}, Windows{0, 4},
                                 Windows{-1, 4}, Windows{INT64_MIN, 4}}) {
    const int64_t block = windows.block, step = windows.step;
    SCOPED_TRACE("block " + std::to_string(block) + ", step " + std::to_string(step));
    HostTensor input(ACL_FLOAT, {8, 1, 2}), weight(ACL_FLOAT, {4, 1}), out(ACL_FLOAT, {1, 1, 2});
    const LengthArray lengths({.lengths = {8}, .length_type = 1});
    const Attempt forward(
        {&input, &weight, &out},
        [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGetWorkspaceSize(t[0], t[1], lengths.get(), nullptr, block, step, 1, t[2],
                                                  bytes, executor);
        },
        aclnnNsaCompress);
    EXPECT_TRUE(forward.ended(kInvalid, step < 1 ? "compressStride" : "compressBlockSize"));
    HostTensor input_grad(ACL_FLOAT, {8, 1, 2}), weight_grad(ACL_FLOAT, {4, 1});
    const Attempt gradient(
        {&out, &input, &weight, &input_grad, &weight_grad},
        [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGradGetWorkspaceSize(t[0], t[1], t[2], lengths.get(), block, step, 1,
                                                      nullptr, t[3], t[4], bytes, executor);
        },
        aclnnNsaCompressGrad);
    EXPECT_TRUE(gradient.ended(kInvalid, step < 1 ? "compressStride" : "compressBlockSize"));
    EXPECT_FALSE(gradient.changed[3] || gradient.changed[4]);
  }
}

TEST(PeersCrashes, StepsAndBlocksOfAnySize) {
  for (const int64_t step : {int64_t{9}, int64_t{1} << 32, INT64_MAX}) {
    HostTensor input(ACL_FLOAT, {8, 1, 1}), weight(ACL_FLOAT, {4, 1});
    for (int64_t i = 0; i < 8; ++i) input.set(i, static_cast<double>(i));
    weight.fill({1, 1, 1, 1});
    EXPECT_EQ(nsa_compress(input, weight, {{8}, 4, step}).get(0), 6) << step;
  }
}

// ---- sizes whose products leave 32 or 64 bits (pytorch 165095, onnxruntime 28107, TransformerEngine 2918) ----

TEST(PeersCrashes, SizesWhoseProductsOverflow) {
  int64_t storage = 1;
  float element = 0;
  int64_t index = 0;
  const auto describe = [&](const Shape& dims, aclDataType dtype, void* data) {
    const std::vector<int64_t> strides(dims.size(), 0);
    return Descriptor(aclCreateTensor(dims.data(), dims.size(), dtype, strides.data(), 0, ACL_FORMAT_ND,
                                      &storage, 1, data));
  };
  const int64_t big = int64_t{1} << 33;
  for (const Shape& table_dims : {Shape{big, big}, Shape{INT64_MAX, 2}, Shape{INT64_MAX, INT64_MAX}}) {
    const Descriptor table = describe(table_dims, ACL_FLOAT, &element);
    const Descriptor indices = describe({1}, ACL_INT64, &index);
    const Descriptor out = describe({1, table_dims[1]}, ACL_FLOAT, &element);
    uint64_t bytes = 77;
    aclOpExecutor* executor = nullptr;
    take_error_text();
    EXPECT_EQ(aclnnEmbeddingGetWorkspaceSize(table.get(), indices.get(), out.get(), &bytes, &executor),
              kInvalid);
    EXPECT_EQ(bytes, 77u);
    EXPECT_NE(take_error_text().find("weight"), std::string::npos);
  }
  // 2^40 positions fit into 64 bits, but not what sorting them takes: the size is an error or a number, never a small remainder.
  const Descriptor grad = describe({int64_t{1} << 62, 1}, ACL_FLOAT, &element);
  const Descriptor indices = describe({int64_t{1} << 62}, ACL_INT64, &index);
  HostTensor out(ACL_FLOAT, {5, 1});
  uint64_t bytes = 77;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnEmbeddingDenseBackwardGetWorkspaceSize(grad.get(), indices.get(), 5, ~uint64_t{0}, false,
                                                        out.describe().get(), &bytes, &executor),
            kInvalid);
  EXPECT_EQ(bytes, 77u);
  EXPECT_FALSE(take_error_text().empty());
}

// ---- strides of 0: valid for inputs; results that share memory are rejected, where other libraries race
// ----

TEST(PeersCrashes, StridesOfZero) {
  HostTensor grad(ACL_FLOAT, {4, 3}, Layout::broadcast), indices(ACL_INT64, {4}, Layout::broadcast);
  HostTensor out(ACL_FLOAT, {2, 3});
  grad.set(0, 2);
  indices.set(0, 1);
  EXPECT_EQ(backward(grad, indices, out, 2, false).code(), 0);
  EXPECT_EQ(out.get(5), 8);
  HostTensor shared(ACL_FLOAT, {2, 3}, Layout::broadcast);
  EXPECT_TRUE(backward(grad, indices, shared, 2, false).ended(kInvalid, "out"));
}

// ---- values that are not finite or subnormal stay in their own rows; 0 * infinity is NaN, subnormals are
// not flushed ----

TEST(PeersCrashes, ValuesThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  HostTensor grad(ACL_FLOAT, {5, 1}), indices(ACL_INT64, {5}), out(ACL_FLOAT, {4, 1});
  grad.fill({infinity, -infinity, 1, 0x1p-149, nan});
  indices.fill({0, 0, 1, 2, 3});
  EXPECT_EQ(backward(grad, indices, out, 4, false).code(), 0);
  EXPECT_EQ(out.all_bits(), (std::vector<uint64_t>{0x7FC00000, 0x3F800000, 1, 0x7FC00000}));
  HostTensor input(ACL_FLOAT, {2, 1, 2}), weight(ACL_FLOAT, {2, 1});
  input.fill({infinity, 1, 1, 0x1p-149});
  weight.fill({0, 1});
  EXPECT_EQ(nsa_compress(input, weight, {{2}, 2, 1}).all_bits(), (std::vector<uint64_t>{0x7FC00000, 1}));
}

// ---- workspace: too small, missing, anywhere ----

TEST(PeersCrashes, Workspaces) {
  HostTensor grad(ACL_FLOAT, {3, 4}), indices(ACL_INT64, {3}), out(ACL_FLOAT, {5, 4});
  for (int64_t i = 0; i < 12; ++i) grad.set(i, 1);
  indices.fill({0, 1, 4});
  out.remember();
  const Descriptor tensors[] = {grad.describe(), indices.describe(), out.describe()};
  uint64_t bytes = 0;
  const auto plan = [&] {
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnEmbeddingDenseBackwardGetWorkspaceSize(tensors[0].get(), tensors[1].get(), 5, ~uint64_t{0},
                                                          false, tensors[2].get(), &bytes, &executor),
              0);
    return executor;
  };
  aclOpExecutor* const first = plan();
  ASSERT_GT(bytes, 0u);
  take_error_text();
  EXPECT_EQ(aclnnEmbeddingDenseBackward(nullptr, bytes, first, nullptr), kNull);
  EXPECT_NE(take_error_text().find("workspace is NULL"), std::string::npos);
  const GuardedBuffer memory(bytes + 1);
  EXPECT_EQ(aclnnEmbeddingDenseBackward(memory.data(), bytes - 1, plan(), nullptr), kInvalid);
  EXPECT_NE(take_error_text().find("workspaceSize is " + std::to_string(bytes - 1)), std::string::npos);
  EXPECT_TRUE(out.unchanged());
  for (const size_t shift : {0, 1}) {
    EXPECT_EQ(aclnnEmbeddingDenseBackward(memory.data() + shift, bytes, plan(), nullptr), 0)
        << take_error_text();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
    EXPECT_TRUE(memory.margins_intact());
    EXPECT_EQ(out.get(19), 1);
  }
}

}  // namespace
}  // namespace openaclnn_test::calls
