// A case that a test runs, spoils and runs again: its tensors, its call, and the comparison with prescribed bits.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/case.h"

namespace openaclnn_test {

class CaseCall {
 public:
  explicit CaseCall(Case c, Placement placement = Placement::ends_at_guard)
      : case_(std::move(c)), tensors_(make_tensors(case_, placement)) {}

  HostTensor& operator[](size_t which) { return tensors_[which]; }
  const HostTensor& operator[](size_t which) const { return tensors_[which]; }
  const std::vector<HostTensor>& tensors() const { return tensors_; }
  const Case& description() const { return case_; }

  Outcome run(const RunOptions& options = {}) const { return run_case(case_, tensors_, options); }

  // Runs, and compares everything but the values of outputs: success, inputs unchanged, gaps and workspace intact.
  ::testing::AssertionResult run_cleanly(const RunOptions& options = {}) {
    for (HostTensor& tensor : tensors_) tensor.remember();
    const Outcome outcome = run(options);
    if (auto fine = succeeded(outcome); !fine) return fine;
    if (!outcome.workspace_intact)
      return ::testing::AssertionFailure() << "bytes around the workspace changed";
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const TensorCase& spec = case_.tensors[k];
      if (!tensors_[k].gaps_intact()) {
        return ::testing::AssertionFailure() << "bytes around " << spec.name << " changed";
      }
      if (spec.role == Role::input && !tensors_[k].unchanged()) {
        return ::testing::AssertionFailure() << spec.name << " was written to";
      }
    }
    return ::testing::AssertionSuccess();
  }

  ::testing::AssertionResult has_bits(size_t which, const std::vector<uint64_t>& wanted) const {
    const std::vector<uint64_t> got = tensors_[which].all_bits();
    if (got.size() != wanted.size()) return ::testing::AssertionFailure() << "sizes differ";
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[i]) continue;
      return ::testing::AssertionFailure() << case_.tensors[which].name << ", element " << i << " is "
                                           << std::hex << got[i] << ", must be " << wanted[i];
    }
    return ::testing::AssertionSuccess();
  }

 private:
  Case case_;
  std::vector<HostTensor> tensors_;
};

}  // namespace openaclnn_test
