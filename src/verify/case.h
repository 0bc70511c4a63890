// A case: one call of an operator as data. Every room lists its cases once, in cases.h; tests, benchmarks and fuzzers run them.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

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

// Compares every element of every output with the operator's formula. `before` and `after` are the tensors in the order of the
// signature; an input is the same in both, an output has no values before.
using JudgeResults = std::function<void(const std::vector<HostTensor>& before,
                                        const std::vector<HostTensor>& after, Judge& judge)>;

struct Case {
  std::string name;                 // unique in its room, the start says which operator
  std::vector<TensorCase> tensors;  // in the order of the signature
  Phase1 phase1;
  Phase2 phase2;
  int64_t minimal_bytes;  // each input read once, each output written once: what no implementation can avoid
  JudgeResults judge;

  // The start of the name: the operator, which is also how `judge` begins the names of its outputs.
  std::string operator_name() const { return name.substr(0, name.find(' ')); }
};

// The arguments of a call that was recorded, besides its tensors: from them a room makes the judge of the results.
struct RecordedCall {
  std::map<std::string, int64_t> integers;  // flags too, as 0 and 1
  std::map<std::string, double> reals;
  std::map<std::string, std::vector<int64_t>> arrays;  // those that were given
  std::set<std::string> tensors;                       // those that were given
  size_t list_length = 0;
};

// Data that brings out the errors of sums: terms of one size that cancel, terms of any size, terms that only grow. As data of
// numerics cases, with exponents that no product of two terms and no sum of a test carries out of FLOAT16's range.
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

// The tensors of a case, filled. The data depends on the names, dims and dtypes only, not on layout and placement.
std::vector<HostTensor> make_tensors(const Case& c, Placement placement = Placement::ends_at_guard);

// What `judge` needs of the time before the call, and its call. Judges read each element many times, so they get contiguous
// copies of tensors in other layouts.
std::vector<HostTensor> before_call(const Case& c, const std::vector<HostTensor>& tensors);
void judge_case(const Case& c, const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                Judge& judge);

Outcome run_case(const Case& c, const std::vector<HostTensor>& tensors, const RunOptions& options = {});

// Of the outputs' bits and the case's name, as the golden files of tests record it.
uint64_t hash_of_results(const Case& c, const std::vector<HostTensor>& tensors);

// Elements that tell right from wrong: finite and not zero; for types that are not real numbers, not all bits zero.
int64_t count_telling(const HostTensor& tensor);

}  // namespace openaclnn_verify
