// Runs every case of every room in every layout of memory: the bits must be those of the contiguous call,
// and bytes between the elements must stay unchanged.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/expect.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

constexpr size_t kWays = std::size(kOutputLayouts);

class Layouts : public testing::TestWithParam<std::string> {
 protected:
  // Returns the room's cases with contiguous tensors, which keep their values. Small test runs use every
  // fourth case.
  static std::vector<Case> cases() {
    const int step = std::getenv("OPENACLNN_TEST_ELEMENTS") != nullptr ? 4 : 1;
    int number = 0;
    std::vector<Case> kept;
    for (Case& c : all_cases()) {
      if (c.operator_name() != GetParam() || number++ % step != 0) continue;
      for (TensorCase& tensor : c.tensors) tensor.layout = Layout::contiguous;
      kept.push_back(std::move(c));
    }
    return kept;
  }
};

bool is_input(const Case& c, size_t k) { return c.tensors[k].role == Role::input; }

// The second call must end like the first one and give the same elements.
void expect_equal_calls(const Case& c, const std::vector<HostTensor>& plain,
                        const std::vector<HostTensor>& other, int& successes) {
  const Outcome wanted = run_case(c, plain), got = run_case(c, other);
  successes += wanted.ok();
  ASSERT_EQ(got.phase1, wanted.phase1) << got.text();
  ASSERT_EQ(got.phase2, wanted.phase2) << got.text();
  ASSERT_EQ(got.sync, wanted.sync) << got.text();
  for (size_t k = 0; k < plain.size(); ++k) {
    ASSERT_TRUE(other[k].same_elements(plain[k])) << c.tensors[k].name;
    ASSERT_TRUE(other[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
  }
}

TEST_P(Layouts, GiveTheBitsOfContiguousTensors) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<HostTensor> filled = make_tensors(c);
    const std::vector<HostTensor> plain = make_tensors(c);
    ASSERT_TRUE(succeeded(run_case(c, plain)));
    for (size_t way = 0; way < 2 * kWays; ++way) {
      // First one layout for all tensors, then different ones.
      const bool differ = way >= kWays;
      const Placement placement = way % 2 == 0 ? Placement::ends_at_guard : Placement::starts_at_guard;
      std::vector<HostTensor> views;
      std::string names;
      for (size_t k = 0; k < filled.size(); ++k) {
        const Layout layout = kOutputLayouts[(way + (differ ? 3 * k : 0)) % kWays];
        views.push_back(filled[k].copy(layout, placement));
        names += std::string(names.empty() ? "" : ", ") + layout_name(layout);
      }
      SCOPED_TRACE(names);
      ASSERT_TRUE(succeeded(run_case(c, views)));
      for (size_t k = 0; k < plain.size(); ++k) {
        ASSERT_TRUE(views[k].same_elements(plain[k])) << c.tensors[k].name;
        ASSERT_TRUE(views[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
      }
    }
  }
}

// Strides of 0 repeat values, so the contiguous call also gets the repeated values. Such data may be
// rejected (group sizes whose sum becomes too large); then both calls must reject it.
TEST_P(Layouts, GiveTheBitsOfExpandedInputs) {
  int successes = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<HostTensor> filled = make_tensors(c);
    for (size_t which = 0; which <= filled.size(); ++which) {  // one input, finally all of them
      if (which < filled.size() && !is_input(c, which)) continue;
      for (const Layout layout : {Layout::expanded, Layout::broadcast}) {
        SCOPED_TRACE(std::string(which < filled.size() ? c.tensors[which].name : "all inputs") + " " +
                     layout_name(layout));
        std::vector<HostTensor> plain, views;
        for (size_t k = 0; k < filled.size(); ++k) {
          const bool repeats = is_input(c, k) && (k == which || which == filled.size());
          views.push_back(filled[k].copy(repeats ? layout : Layout::contiguous));
          plain.push_back(views.back().copy(Layout::contiguous));
        }
        ASSERT_NO_FATAL_FAILURE(expect_equal_calls(c, plain, views, successes));
      }
    }
  }
  EXPECT_GT(successes, 0);
}

INSTANTIATE_TEST_SUITE_P(Rooms, Layouts, testing::ValuesIn(operator_names()),
                         [](const auto& room) { return room.param; });

}  // namespace
}  // namespace openaclnn_test
