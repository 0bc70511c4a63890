// Kernels with injected errors: the emulation must notice races and a deleted bounds check.
#include <gtest/gtest.h>

#include <string_view>

#include "kernels.h"
#include "support/verify.h"
#include "verify/random.h"
#include "verify/room_cases.h"

// A death test forks, and fork() takes more locks than the detector of deadlocks can count.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }

namespace openaclnn_test {
namespace {

using openaclnn::CheckMode;

// The patch of tests/cuda/bugs that is applied to one room's kernel.
constexpr std::string_view kBug = OPENACLNN_KERNEL_BUG;

// Returns the first difference in the cases of an operator.
std::string first_difference(const std::string& operator_name, const Spoil& spoil) {
  for (const Case& c : all_cases()) {
    if (c.operator_name() != operator_name) continue;
    if (std::string text = difference(c, CheckMode::report, spoil); !text.empty()) return text;
  }
  return "";
}

TEST(PlantedKernelBugs, AreNoticed) {
  if (kBug == "barrier_deleted" || kBug == "sums_overwritten") {
    if (kRaceReport != nullptr) {
      EXPECT_DEATH(first_difference("GroupedBiasAddGrad", nullptr), kRaceReport);
    } else {
      EXPECT_NE(first_difference("GroupedBiasAddGrad", nullptr), "");
    }
    return;
  }
  ASSERT_EQ(kBug, "guard_deleted");
  // One index far outside the table: the guard pages around the table, or a sanitizer, end the process.
  const Spoil one_wrong_index = [](const Case&, std::vector<HostTensor>& tensors) {
    tensors[1].set_bits(0, uint64_t{1} << 30);
  };
  EXPECT_DEATH(first_difference("Embedding", one_wrong_index), "");
}

}  // namespace
}  // namespace openaclnn_test
