// A call that a test runs, changes and runs again: its tensors, its run, and the comparison with prescribed
// bits. The call classes of rooms are based on it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/case.h"
#include "verify/number.h"
#include "verify/random.h"

namespace openaclnn_test {

struct Parameter {
  const char* name;
  Role role;
};

class CaseCall {
 public:
  explicit CaseCall(Case c, Placement placement = Placement::ends_at_guard)
      : case_(std::move(c)), tensors_(make_tensors(case_, placement)) {}
  CaseCall(Case c, std::vector<HostTensor> tensors) : case_(std::move(c)), tensors_(std::move(tensors)) {}
  // Without data, a judge, or limits of sizes.
  CaseCall(const std::vector<Parameter>& parameters, Phase1 phase1, Phase2 phase2,
           std::vector<HostTensor> tensors)
      : tensors_(std::move(tensors)) {
    for (size_t k = 0; k < parameters.size(); ++k)
      case_.tensors.push_back(
          {parameters[k].name, tensors_[k].dtype(), tensors_[k].dims(), parameters[k].role});
    case_.phase1 = std::move(phase1);
    case_.phase2 = phase2;
  }

  HostTensor& operator[](size_t which) { return tensors_[which]; }
  const HostTensor& operator[](size_t which) const { return tensors_[which]; }
  void replace(size_t which, HostTensor tensor) { tensors_[which] = std::move(tensor); }
  const std::vector<HostTensor>& tensors() const { return tensors_; }
  const Case& description() const { return case_; }

  // A hash of the contents of all tensors, for calls that must not write anything.
  void remember() {
    for (HostTensor& tensor : tensors_) tensor.remember();
  }
  bool unchanged() const {
    return std::ranges::all_of(tensors_, [](const HostTensor& tensor) { return tensor.unchanged(); });
  }

  Outcome run(const RunOptions& options = {}) const { return run_case(case_, tensors_, options); }

  // After remember() and a run: inputs and the bytes around outputs are unchanged.
  ::testing::AssertionResult memory_intact() const {
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const TensorCase& spec = case_.tensors[k];
      if (spec.role == Role::input && !tensors_[k].unchanged())
        return ::testing::AssertionFailure() << "memory of " << spec.name << " was written to";
      if (spec.role != Role::input && !tensors_[k].gaps_intact())
        return ::testing::AssertionFailure() << "bytes around " << spec.name << " changed";
    }
    return ::testing::AssertionSuccess();
  }

  // Runs, and compares everything except the values of outputs: success, inputs unchanged, gaps and
  // workspace intact.
  ::testing::AssertionResult run_cleanly(const RunOptions& options = {}) {
    remember();
    const Outcome outcome = run(options);
    if (auto fine = succeeded(outcome); !fine) return fine;
    if (!outcome.workspace_intact)
      return ::testing::AssertionFailure() << "bytes around the workspace changed";
    return memory_intact();
  }

  ::testing::AssertionResult has_bits(size_t which, const std::vector<uint64_t>& wanted) const {
    const std::vector<uint64_t> got = tensors_[which].all_bits();
    const std::string& name = case_.tensors[which].name;
    if (got.size() != wanted.size()) return ::testing::AssertionFailure() << name << ": sizes differ";
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[i]) continue;
      return ::testing::AssertionFailure() << name << ", element " << i << " of " << got.size() << " is "
                                           << std::hex << got[i] << ", must be " << wanted[i];
    }
    return ::testing::AssertionSuccess();
  }

 protected:
  Case case_ = {};
  std::vector<HostTensor> tensors_;
};

// Random bits: one element in `rarity` is special, some others have any bits.
inline void fill_with_anything(HostTensor& tensor, Random& random, int rarity = 4) {
  const double inf = std::numeric_limits<double>::infinity();
  const FloatFormat& format = *float_format(tensor.dtype());
  const double smallest = std::ldexp(1.0, format.min_exponent - format.precision + 1);
  const double largest = std::ldexp(1.5, format.max_exponent);
  const double specials[] = {0.0,         -0.0,     inf, -inf, smallest, -3 * smallest,
                             largest,     -largest, 1,   -1,   -0.25,    std::ldexp(1.0, format.min_exponent),
                             std::nan("")};
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (random.chance(rarity)) {
      tensor.set(i, specials[random.below(std::size(specials))]);
    } else if (random.chance(rarity / 2 + 1)) {
      tensor.set_bits(i, random.bits());
    } else {
      tensor.set(i, random.signed_magnitude(-14, 4));
    }
  }
}

}  // namespace openaclnn_test
