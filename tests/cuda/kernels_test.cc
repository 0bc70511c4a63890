// Runs every CUDA kernel in the emulation: the same bits and the same faults as the CPU's kernel, in any
// order of threads.
#include <gtest/gtest.h>

#include "base/sort_size.h"
#include "kernels.h"
#include "support/verify.h"
#include "verify/random.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

using openaclnn::CheckMode;

// ThreadSanitizer compares every access with those of 255 other threads, so it gets only some cases of each
// kernel. AddressSanitizer also gets only some: guard pages find accesses beside tensors without it.
#if defined(__SANITIZE_THREAD__)
constexpr int kRandomRuns = 4;
constexpr size_t kCaseStride = 12;
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kRandomRuns = 8;
constexpr size_t kCaseStride = 6;
#else
constexpr int kRandomRuns = 60;
constexpr size_t kCaseStride = 1;
#endif
constexpr int64_t kElements = 4000;
constexpr CheckMode kModes[] = {CheckMode::report, CheckMode::strict, CheckMode::silent};

bool is_integer(aclDataType dtype) {
  return dtype == ACL_INT8 || dtype == ACL_UINT8 || dtype == ACL_INT16 || dtype == ACL_INT32 ||
         dtype == ACL_INT64;
}

// Replaces some elements of integer inputs by invalid indices and groups.
Spoil spoil_integers(uint64_t seed) {
  return [seed](const Case& c, std::vector<HostTensor>& tensors) {
    Random random(seed);
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (c.tensors[k].role != Role::input || !is_integer(tensors[k].dtype()) || tensors[k].numel() == 0)
        continue;
      for (int64_t n = random.between(1, 5); n > 0; --n) {
        const uint64_t value =
            random.between(0, 1) == 0 ? random.bits() : static_cast<uint64_t>(random.between(-3, 40));
        tensors[k].set_bits(random.between(0, tensors[k].numel() - 1), value);
      }
    }
  };
}

class Kernels : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Case> cases() {
    std::vector<Case> kept;
    size_t n = 0;
    for (Case& c : all_cases()) {
      if (c.operator_name() == GetParam() && n++ % kCaseStride == 0) kept.push_back(std::move(c));
    }
    return kept;
  }
  static Case random_case(Draw& draw) {
    for (const RandomCases& cases : kRandomCases) {
      if (cases.operator_name == GetParam()) return cases.make(draw, kElements);
    }
    return {};
  }
};

TEST_P(Kernels, GiveTheBitsOfTheCpu) {
  for (const Case& c : cases()) {
    KernelRun run;
    ASSERT_EQ(difference(c, CheckMode::report, nullptr, &run), "") << c.name;
    Judge judge;
    judge_case(c, before_call(c, make_tensors(c)), run.tensors, judge);
    ASSERT_TRUE(judge.ok()) << c.name << ": " << judge.messages();
  }
}

TEST_P(Kernels, GiveTheBitsOfTheCpuForLayouts) {
  size_t n = 0;  // the cases go through the layouts together
  for (Case c : cases()) {
    for (size_t k = 0; k < c.tensors.size(); ++k) {
      const bool is_input = c.tensors[k].role == Role::input;
      c.tensors[k].layout = is_input ? kInputLayouts[(n + k) % std::size(kInputLayouts)]
                                     : kOutputLayouts[(n + k) % std::size(kOutputLayouts)];
    }
    ASSERT_EQ(difference(c, CheckMode::report), "") << c.name << ", layouts " << n;
    ++n;
  }
}

TEST_P(Kernels, GiveTheBitsOfTheCpuForRandomCases) {
  for (int n = 0; n < kRandomRuns; ++n) {
    Random random(static_cast<uint64_t>(n));
    RandomDraw draw(random);
    const Case c = random_case(draw);
    KernelRun run;
    ASSERT_EQ(difference(c, CheckMode::report, nullptr, &run), "") << "random case " << n << ", " << c.name;
    if (!run.was_planned) continue;
    Judge judge;
    judge_case(c, before_call(c, make_tensors(c)), run.tensors, judge);
    ASSERT_TRUE(judge.ok()) << "random case " << n << ", " << c.name << ": " << judge.messages();
  }
}

TEST_P(Kernels, FindTheFaultsOfTheCpu) {
  for (int n = 0; n < kRandomRuns; ++n) {
    Random random(static_cast<uint64_t>(n) + 1000000);
    RandomDraw draw(random);
    const Case c = random_case(draw);
    for (const CheckMode check : kModes) {
      if (check == CheckMode::silent) continue;  // nothing reads the faults
      ASSERT_EQ(difference(c, check, spoil_integers(static_cast<uint64_t>(n))), "")
          << "random case " << n << ", " << c.name << ", check mode " << static_cast<int>(check);
    }
  }
}

// Larger than the limit for sorting by counting.
TEST(KernelsOfEmbedding, SortManyPositions) {
  int sorted = 0;
  for (uint64_t seed = 0; sorted < 2; ++seed) {
    Random random(seed);
    RandomDraw draw(random);
    const Case c = random_case_of_embedding_dense_backward(draw, 40000);
    if (count_elements(c.tensors[1].dims) <= openaclnn::kMostSortedByCounting) continue;
    ++sorted;
    ASSERT_EQ(difference(c, CheckMode::report, spoil_integers(seed)), "")
        << "seed " << seed << ", " << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Rooms, Kernels, testing::ValuesIn(operator_names()),
                         [](const auto& room) { return room.param; });

}  // namespace
}  // namespace openaclnn_test
