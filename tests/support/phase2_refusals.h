// The suite of calls that every phase 2 accepts and rejects. A room instantiates it with calls that run:
//   INSTANTIATE_TEST_SUITE_P(Embedding, Phase2Refusals, testing::ValuesIn(launches()),
//   LaunchForm::name_of);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "support/phase2_mistakes.h"

namespace openaclnn_test {

struct LaunchForm {
  std::string name = {};
  std::function<Launch(Placement)> make = {};
  int least_pairs = 5;                    // more pairs of mistakes than these are tried
  std::vector<size_t> not_accessed = {};  // tensors whose addresses do not matter
  std::optional<bool> needs_workspace = {};

  Launch launch(Placement placement = Placement::ends_at_guard) const {
    return not_accessing(make(placement), not_accessed);
  }
  static std::string name_of(const testing::TestParamInfo<LaunchForm>& info);
  friend void PrintTo(const LaunchForm& form, std::ostream* out) { *out << form.name; }
};

class Phase2Refusals : public testing::TestWithParam<LaunchForm> {};

}  // namespace openaclnn_test
