// The tests of every phase 2.
#include "support/phase2_refusals.h"

#include "support/expect.h"
#include "support/subprocess.h"

namespace openaclnn_test {

std::string LaunchForm::name_of(const testing::TestParamInfo<LaunchForm>& info) { return info.param.name; }

TEST_P(Phase2Refusals, TheFirstOfTwoMistakesDecides) {
  const Launch launch = GetParam().launch();
  if (GetParam().needs_workspace == true) {
    ASSERT_GT(required_workspace(launch), 0u);
  }
  EXPECT_GT(expect_launch_mistakes_in_order(launch), GetParam().least_pairs);
}

TEST_P(Phase2Refusals, RefusesMisalignedData) { expect_misaligned_data_refused(GetParam().launch()); }

TEST_P(Phase2Refusals, NeedsOnlyWhatItAccesses) {
  const Launch launch = GetParam().launch();
  if (GetParam().needs_workspace == false) {
    EXPECT_EQ(required_workspace(launch), 0u);
  }
  expect_only_needed_memory_matters(launch);
}

// The tests below place and set every tensor, so they use launches that access all of them.
TEST_P(Phase2Refusals, AcceptsNeighbours) {
  if (GetParam().not_accessed.empty()) expect_neighbours_work(GetParam().launch());
}

TEST_P(Phase2Refusals, TakesNewAddresses) {
  if (GetParam().not_accessed.empty()) expect_address_updates_work(GetParam().launch());
}

// In strict mode. One process tries the launches of all parameters.
TEST_P(Phase2Refusals, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  if (!is_process_of("StrictMemory")) {
    static const ProcessResult result =
        run_suite("StrictMemory", {{"OPENACLNN_CHECK", "strict"}},
                  "*/Phase2Refusals.RefusesMemoryThatTheAllocatorDoesNotKnow/*");
    EXPECT_TRUE(ran_and_passed(result)) << result.output;
  } else if (GetParam().not_accessed.empty()) {
    const Launch launch = GetParam().launch(Placement::library);
    expect_unknown_memory_refused(launch);
    EXPECT_TRUE(succeeded(run_launch(launch, Placement::library)));
  }
}

}  // namespace openaclnn_test
