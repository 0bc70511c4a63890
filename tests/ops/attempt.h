// Calls that may fail: their results, and their writes.
#pragma once

#include <gtest/gtest.h>

#include "ops/operator_calls.h"

namespace openaclnn_test::calls {

inline constexpr int kInvalid = 161002, kNull = 161001, kFault = 507035;

// Runs a call that may fail, between guard pages. Inputs and the bytes around outputs must stay unchanged.
class Attempt {
 public:
  Attempt(std::vector<HostTensor*> tensors, const Phase1& phase1, Phase2 phase2) {
    Tensors pointers;
    for (HostTensor* tensor : tensors) {
      tensor->remember();
      pointers.push_back(tensor);
    }
    outcome = run_operator(pointers, phase1, phase2);
    for (size_t k = 0; k < tensors.size(); ++k) {
      EXPECT_TRUE(tensors[k]->gaps_intact()) << "bytes around tensor " << k << " changed";
      changed.push_back(!tensors[k]->unchanged());
    }
    EXPECT_TRUE(outcome.workspace_intact || outcome.phase1 != 0 || outcome.phase2 != 0);
  }
  // Returns the first nonzero code.
  int code() const {
    return outcome.phase1 != 0 ? outcome.phase1 : outcome.phase2 != 0 ? outcome.phase2 : outcome.sync;
  }
  testing::AssertionResult ended(int wanted, const std::string& sentence) const {
    if (code() == wanted && outcome.error.find(sentence) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << "wanted " << wanted << " with '" << sentence << "': " << outcome.text();
  }

  Outcome outcome;
  std::vector<bool> changed;  // of each tensor
};

inline void expect_stream_works() {
  HostTensor table(ACL_FLOAT, {2, 1}), indices(ACL_INT32, {1});
  table.fill({3, 4});
  indices.set(0, 1);
  EXPECT_EQ(embedding(table, indices).get(0), 4);
}

}  // namespace openaclnn_test::calls
