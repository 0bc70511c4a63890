// A case: one call of an operator as data. Every room lists its cases in cases.h; tests, benchmarks and
// fuzzers run them.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verify/dtypes.h"
#include "verify/host_tensor.h"
#include "verify/judge.h"
#include "verify/runner.h"

namespace openaclnn_verify {

enum class Role { input, output, reference };  // reference: read and updated in place

enum class Values {
  symmetric,  // signs random, magnitudes from 2^low to 2^high
  positive,   // magnitudes from 2^low to 2^high
  whole,      // integers from low to high
  raw_bits,   // any bits
  listed,     // TensorCase::listed, times 2^low
  none,       // left as canary bytes: outputs
};

struct TensorCase {
  std::string name;
  aclDataType dtype;
  Shape dims;
  Role role;
  Values values = Values::none;
  int64_t low = 0;
  int64_t high = 0;
  Layout layout = Layout::contiguous;
  std::vector<int64_t> listed = {};
};

// Compares every element of every output with the operator's formula. `before` and `after` are the tensors in
// the order of the signature. An input is the same in both; an output has no values before.
using JudgeResults = std::function<void(const std::vector<HostTensor>& before,
                                        const std::vector<HostTensor>& after, Judge& judge)>;

// The arguments of a recorded call except its tensors. A room makes the judge of the results from them.
struct RecordedCall {
  std::map<std::string, int64_t> integers;  // including flags, as 0 and 1
  std::map<std::string, double> reals;
  std::map<std::string, std::vector<int64_t>> arrays;  // those that were given
  std::set<std::string> tensors;                       // those that were given
  size_t list_length = 0;
};

struct Case {
  std::string name;                 // unique in its room; starts with the operator
  std::vector<TensorCase> tensors;  // in the order of the signature
  Phase1 phase1;
  Phase2 phase2;
  int64_t minimal_bytes;  // each input read once, each output written once: a bound for any implementation
  JudgeResults judge;
  RecordedCall attributes = {};  // without the names of the tensors

  // Returns the arguments, as a dump of the call has them.
  RecordedCall recorded() const;
  // Returns the start of the name: the operator. `judge` starts the names of its outputs with it.
  std::string operator_name() const { return name.substr(0, name.find(' ')); }
};

// Data that exposes errors of sums: terms of one size that cancel, terms of any size, terms that only grow.
// Used by numerics cases. No product of two terms and no sum of a test leaves FLOAT16's range with these
// exponents.
struct SumData {
  const char* name;
  Values values;
  int64_t low, high;
};
inline constexpr SumData kSumData[] = {{"cancelling", Values::symmetric, 0, 1},
                                       {"any size", Values::symmetric, -14, 4},
                                       {"positive", Values::positive, -1, 0}};
inline void set_sum_data(TensorCase& tensor, int64_t n) {
  const SumData& data = kSumData[static_cast<size_t>(n) % std::size(kSumData)];
  tensor.values = data.values;
  tensor.low = data.low;
  tensor.high = data.high;
}

// Returns the tensors of a case with their data. The data depends only on names, dims and dtypes, not on
// layout and placement.
std::vector<HostTensor> make_tensors(const Case& c, Placement placement = Placement::ends_at_guard);

// Returns the values before the call that `judge` needs. Judges read each element many times, so tensors in
// other layouts become contiguous copies.
std::vector<HostTensor> before_call(const Case& c, const std::vector<HostTensor>& tensors);
void judge_case(const Case& c, const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                Judge& judge);

Outcome run_case(const Case& c, const std::vector<HostTensor>& tensors, const RunOptions& options = {});

// Returns a hash of the outputs' bits and the case's name, as the golden files of tests record it.
uint64_t hash_of_results(const Case& c, const std::vector<HostTensor>& tensors);

// Counts elements that can reveal errors: finite and nonzero; for types that are not real numbers, not all
// bits zero.
int64_t count_telling(const HostTensor& tensor);

}  // namespace openaclnn_verify
