// Compares every case of every room with the operator's formula and with the promises of all operators:
// accesses only inside the described elements, inputs unchanged, the same bits again.
#include <gtest/gtest.h>

#include "support/case_call.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

std::vector<std::vector<std::byte>> results(const Case& c, const std::vector<HostTensor>& tensors) {
  std::vector<std::vector<std::byte>> bytes;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role != Role::input) bytes.push_back(tensors[k].all_bytes());
  }
  return bytes;
}

void run_guarded(const Case& c, Placement workspace, std::vector<HostTensor>& tensors) {
  for (HostTensor& tensor : tensors) tensor.remember();
  ASSERT_TRUE(succeeded(run_case(c, tensors, {.workspace = workspace})));
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role == Role::input) {
      ASSERT_TRUE(tensors[k].unchanged()) << c.tensors[k].name << " was written to";
    } else {
      ASSERT_TRUE(tensors[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
    }
  }
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Case> cases() {
    std::vector<Case> kept;
    for (Case& c : all_cases()) {
      if (c.operator_name() == GetParam()) kept.push_back(std::move(c));
    }
    return kept;
  }
};

// A case with only zeros, or that the judge skips, would accept every kernel.
void expect_trust(const Case& c, const std::vector<HostTensor>& tensors, const Judge& judge) {
  int64_t outputs = 0, judged = 0, skipped = 0;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role == Role::input) continue;
    outputs += tensors[k].numel();
    EXPECT_GT(2 * count_telling(tensors[k]), tensors[k].numel())
        << c.tensors[k].name << " is mostly zero or not finite";
  }
  judge.for_each([&](const OutputRecord& record) {
    judged += record.elements();
    skipped += record.skipped();
  });
  EXPECT_EQ(judged, outputs) << "the judge does not look at every element";
  EXPECT_LT(10 * skipped, judged) << "the judge skips a tenth";
}

TEST_P(Cases, FollowTheFormulaBetweenGuardPages) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(c.judge) << "the case has no judge";
    std::vector<HostTensor> tensors = make_tensors(c, Placement::ends_at_guard);
    const std::vector<HostTensor> before = before_call(c, tensors);
    ASSERT_NO_FATAL_FAILURE(run_guarded(c, Placement::ends_at_guard, tensors));
    Judge judge;
    judge_case(c, before, tensors, judge);
    ASSERT_TRUE(judge.ok()) << judge.messages();
    expect_trust(c, tensors, judge);

    std::vector<HostTensor> again = make_tensors(c, Placement::starts_at_guard);
    ASSERT_NO_FATAL_FAILURE(run_guarded(c, Placement::off_a_line, again));
    ASSERT_EQ(results(c, again), results(c, tensors)) << "another run gives other bits";
  }
}

// Tests the judge itself: it must notice one wrong element in each output.
TEST_P(Cases, AreJudgedByTheValues) {
  const std::vector<Case> all = cases();
  ASSERT_FALSE(all.empty());
  for (const Case& c : all) {
    SCOPED_TRACE(c.name);
    const std::vector<HostTensor> tensors = make_tensors(c);
    const std::vector<HostTensor> before = before_call(c, tensors);
    ASSERT_TRUE(succeeded(run_case(c, tensors)));
    int64_t flipped = 0, seen = 0;
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (c.tensors[k].role == Role::input) continue;
      // Flips the sign of the last element.
      tensors[k].element(tensors[k].numel() - 1)[element_bytes(tensors[k].dtype()) - 1] ^= std::byte{0x80};
      ++flipped;
    }
    Judge judge;
    judge_case(c, before, tensors, judge);
    judge.for_each([&](const OutputRecord& record) { seen += record.failures(); });
    EXPECT_EQ(seen, flipped) << judge.messages();
  }
}

INSTANTIATE_TEST_SUITE_P(Rooms, Cases, testing::ValuesIn(operator_names()),
                         [](const auto& room) { return room.param; });

}  // namespace
}  // namespace openaclnn_test
