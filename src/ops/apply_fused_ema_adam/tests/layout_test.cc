// ApplyFusedEmaAdam: memory. Ranks, sizes, layouts, permitted aliasing, and the bytes that are accessed.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"

namespace openaclnn_test {
namespace {

const EmaAttributes kAttributes = {.lr = 0.01, .mode = 0, .weight_decay = 0.1};

constexpr Placement kPlacements[] = {Placement::ends_at_guard, Placement::starts_at_guard};

TEST(EmaAdamSizes, AroundVectorsBlocksAndChunks) {
  Random random(test_seed());
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size <= 66; ++size) sizes.push_back(size);
  for (const int64_t border : {127, 128, 255, 256, 512, 1024, 2048, 3072, 4096, 8192, 16384, 32768, 65536}) {
    for (int64_t size = border - 1; size <= border + 1; ++size) sizes.push_back(size);
  }
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t size : sizes) {
      for (const Placement placement : kPlacements) {
        EmaCall call(dtype, {size}, 3, Layout::contiguous, placement);
        call.fill_ordinary(random);
        ASSERT_TRUE(call.run_and_compare(kAttributes)) << "dtype " << dtype << ", size " << size;
      }
    }
  }
}

// Gathered elements pass through separate blocks.
TEST(EmaAdamSizes, AroundBlocksOfStridedViews) {
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 17, 64}) {
      for (const int64_t columns : {1, 2, 3, 15, 16, 17, 63, 64, 65, 255, 256, 257}) {
        for (const Layout layout : {Layout::strided, Layout::padded, Layout::reversed}) {
          EmaCall call(dtype, {rows, columns}, 3, layout);
          call.fill_ordinary(random);
          ASSERT_TRUE(call.run_and_compare(kAttributes))
              << "dtype " << dtype << ", " << rows << " x " << columns << ", " << layout_name(layout);
        }
      }
    }
  }
}

const Shape kShapes[] = {{},
                         {5},
                         {1},
                         {3, 70},
                         {70, 3},
                         {1, 300},
                         {300, 1},
                         {4, 1, 9},
                         {2, 3, 4, 5},
                         {3, 1, 2, 2, 7},
                         {2, 2, 2, 2, 2, 3},
                         {2, 1, 3, 1, 2, 1, 5},
                         {2, 2, 2, 2, 2, 2, 2, 2},
                         {1, 1, 1, 1, 1, 1, 1, 1},
                         {2, 1, 2, 1, 3, 2, 1, 67}};

TEST(EmaAdamLayouts, EveryRankInEveryLayoutHasTheSameBits) {
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (const Shape& shape : kShapes) {
      for (const Layout layout : kOutputLayouts) {
        for (const Placement placement : kPlacements) {
          EmaCall call(dtype, shape, 3, layout, placement);
          call.fill_ordinary(random);
          ASSERT_TRUE(call.run_and_compare(kAttributes))
              << "dtype " << dtype << ", shape " << testing::PrintToString(shape) << ", "
              << layout_name(layout);
        }
      }
    }
  }
}

TEST(EmaAdamLayouts, MayDifferFromTensorToTensor) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int n = 0; n < 400; ++n) {
    const aclDataType dtype = kFloatDtypes[n % 3];
    const Shape& shape = kShapes[random.below(std::size(kShapes))];
    EmaCall call(dtype, shape, 3);
    std::string layouts;
    for (int k = kGrad; k < kStep; ++k) {
      const Layout layout = k == kGrad ? kInputLayouts[random.below(std::size(kInputLayouts))]
                                       : kOutputLayouts[random.below(std::size(kOutputLayouts))];
      call.replace(k, HostTensor(dtype, shape, layout, kPlacements[random.below(2)]));
      layouts += std::string(" ") + layout_name(layout);
    }
    call.fill_ordinary(random);
    ASSERT_TRUE(call.run_and_compare(kAttributes))
        << "dtype " << dtype << ", shape " << testing::PrintToString(shape) << "," << layouts;
  }
}

TEST(EmaAdamLayouts, ManyChunksOfStridedViews) {
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (const Layout layout : kOutputLayouts) {
      EmaCall call(dtype, {101, 7, 97}, 3, layout);
      call.replace(kGrad,
                   HostTensor(dtype, {101, 7, 97}, layout == Layout::mixed ? Layout::expanded : layout));
      call.fill_ordinary(random);
      ASSERT_TRUE(call.run_and_compare(kAttributes)) << "dtype " << dtype << ", " << layout_name(layout);
    }
  }
}

TEST(EmaAdamAliasing, GradMayBeTheIdenticalViewOfOneRef) {
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (int which = kVar; which < kStep; ++which) {
      for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::mixed}) {
        for (const Shape& shape : {Shape{1000}, Shape{37, 29}, Shape{300, 100}}) {
          EmaCall call(dtype, shape, 3, layout);
          call.replace(kGrad, call[which].alias());
          call.fill_ordinary(random);
          EmaCall::Bits wanted = call.expected(kAttributes);
          wanted[kGrad] = wanted[static_cast<size_t>(which)];
          ASSERT_TRUE(succeeded(call.run(kAttributes)));
          ASSERT_TRUE(call.has_all_bits(wanted))
              << "grad is " << kEmaNames[which] << ", " << layout_name(layout);
        }
      }
    }
  }
}

// Neither dense nor identical: no provable overlap, and in fact none.
TEST(EmaAdamAliasing, InterleavedStatesDoNotMeet) {
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    constexpr int64_t kCount = 5000;
    const HostTensor all(dtype, {4 * kCount});
    EmaCall call(dtype, {kCount}, 3);
    for (int k = kVar; k < kStep; ++k) {
      call.replace(k, HostTensor(dtype, {kCount}, View{{4}, 0}, all, all.element(k - kVar)));
    }
    call.fill_ordinary(random);
    const EmaCall::Bits wanted = call.expected(kAttributes);
    ASSERT_TRUE(succeeded(call.run(kAttributes)));
    ASSERT_TRUE(call.has_all_bits(wanted)) << "dtype " << dtype;
  }
}

// step is one number for any shape. The page after its 8 bytes is not readable.
TEST(EmaAdamStep, IsReadAsEightBytes) {
  use_device();
  Random random(test_seed());
  for (const Shape& described : {Shape{}, Shape{1}, Shape{2, 2}, Shape{1000}, Shape{1, 1, 1, 1, 1, 1, 1, 1},
                                 Shape{1 << 20, 1 << 20}}) {
    for (const Placement placement : kPlacements) {
      EmaCall call(ACL_FLOAT, {50}, 9, Layout::contiguous, placement);
      call.fill_ordinary(random);
      const EmaCall::Bits wanted = call.expected(kAttributes);
      std::vector<Descriptor> d;
      for (int k = 0; k < kStep; ++k) d.push_back(call[k].describe());
      d.push_back(call[kStep].describe_as(described));
      aclTensor* const handles[] = {d[0].get(), d[1].get(), d[2].get(), d[3].get(), d[4].get(), d[5].get()};
      uint64_t workspace_bytes = 0;
      aclOpExecutor* executor = nullptr;
      ASSERT_EQ(ema_adam_phase1(kAttributes)(handles, &workspace_bytes, &executor), 0) << take_error_text();
      ASSERT_TRUE(succeeded(run_phase2(aclnnApplyFusedEmaAdam, executor, workspace_bytes)));
      ASSERT_TRUE(call.has_all_bits(wanted)) << testing::PrintToString(described);
    }
  }
}

TEST(EmaAdamStep, IsFoundThroughItsOffset) {
  Random random(test_seed());
  EmaCall call(ACL_FLOAT, {50}, 0);
  for (const Layout layout : {Layout::offset, Layout::mixed, Layout::strided}) {
    HostTensor step(ACL_INT64, {1, 1}, layout);
    step.set_bits(0, 9);
    call.replace(kStep, std::move(step));
    call.fill_ordinary(random);
    ASSERT_TRUE(call.run_and_compare(kAttributes)) << layout_name(layout);
  }
}

TEST(EmaAdamStep, IsNotReadWithoutCorrection) {
  Random random(test_seed());
  EmaAttributes uncorrected = kAttributes;
  uncorrected.bias_correction = false;
  EmaCall call(ACL_FLOAT, {50}, 9);
  call.fill_ordinary(random);
  const EmaCall::Bits wanted = call.expected(uncorrected);
  const HostTensor nowhere(ACL_INT64, {}, View{}, call[kStep], nullptr);
  call.replace(kStep, nowhere);
  ASSERT_TRUE(succeeded(call.run(uncorrected)));
  ASSERT_TRUE(call.has_all_bits(wanted));
}

TEST(EmaAdamEmpty, SucceedsWithoutMemory) {
  const int64_t huge = int64_t{1} << 62;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const Shape& shape :
         {Shape{0}, Shape{3, 0}, Shape{huge, 0}, Shape{0, huge, huge}, Shape{huge, huge, 0, huge}}) {
      EmaCall call(dtype, shape, 1);
      const HostTensor memory(dtype, {1});
      for (int k = 0; k < kStep; ++k)
        call.replace(k, HostTensor(dtype, shape, call[k].view(), memory, nullptr));
      call.replace(kStep, HostTensor(ACL_INT64, {}, View{}, call[kStep], nullptr));
      const Outcome outcome = call.run(kAttributes);
      ASSERT_TRUE(succeeded(outcome)) << testing::PrintToString(shape);
      ASSERT_EQ(outcome.workspace_bytes, 0u);
    }
  }
}

TEST(EmaAdamCalls, SplittingATensorChangesNoBits) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  constexpr int64_t kCount = 40000;
  for (const aclDataType dtype : kFloatDtypes) {
    EmaCall whole(dtype, {kCount}, 3);
    whole.fill_anything(random);
    EmaCall parts(dtype, {kCount}, 3);
    for (int k = 0; k < kStep; ++k) parts.replace(k, whole[k].copy(Layout::contiguous));
    ASSERT_TRUE(succeeded(whole.run(kAttributes)));
    for (int64_t begin = 0; begin < kCount;) {
      const int64_t count = std::min<int64_t>(kCount - begin, random.between(1, 9000));
      EmaCall part(dtype, {count}, 3);
      for (int k = 0; k < kStep; ++k) {
        part.replace(k, HostTensor(dtype, {count}, View{{1}, begin}, parts[k], parts[k].data()));
      }
      ASSERT_TRUE(succeeded(part.run(kAttributes)));
      begin += count;
    }
    ASSERT_TRUE(parts.has_all_bits(whole.bits())) << "dtype " << dtype;
  }
}

TEST(EmaAdamCalls, RepeatedStepsOfAStreamSeeEachOther) {
  Random random(test_seed());
  EmaCall call(ACL_BF16, {33000}, 1);
  call.fill_ordinary(random);
  for (int64_t t = 1; t <= 5; ++t) {
    call[kStep].set_bits(0, static_cast<uint64_t>(t));
    ASSERT_TRUE(call.run_and_compare(kAttributes)) << "step " << t;
  }
}

}  // namespace
}  // namespace openaclnn_test
