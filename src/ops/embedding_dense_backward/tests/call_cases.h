// One call of EmbeddingDenseBackward in a test: three tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/embedding_dense_backward/verify/cases.h"
#include "ops/embedding_dense_backward/verify/oracle.h"
#include "support/case_call.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr const char* kBackwardPhase1 = "aclnnEmbeddingDenseBackwardGetWorkspaceSize";
inline constexpr const char* kBackwardPhase2 = "aclnnEmbeddingDenseBackward";

struct DtypePair {
  aclDataType grad, out;
};
inline constexpr DtypePair kFloats = {ACL_FLOAT, ACL_FLOAT};
inline std::vector<DtypePair> dtype_pairs() {
  std::vector<DtypePair> pairs;
  for (const aclDataType grad : kFloatDtypes) {
    for (const aclDataType out : kFloatDtypes) pairs.push_back({grad, out});
  }
  return pairs;
}
inline std::ostream& operator<<(std::ostream& stream, const DtypePair& pair) {
  return stream << "grad of dtype " << pair.grad << ", out of dtype " << pair.out;
}

struct Layouts {
  Layout grad = Layout::contiguous, indices = Layout::contiguous, out = Layout::contiguous;
};

class BackwardCall : public CaseCall {
 public:
  BackwardCall(DtypePair dtypes, aclDataType index_dtype, const Shape& index_dims, int64_t columns,
               const BackwardAttributes& attributes, const Layouts& layouts = {},
               Placement placement = Placement::ends_at_guard)
      : CaseCall({{kBackwardNames[kGrad], Role::input},
                  {kBackwardNames[kIndices], Role::input},
                  {kBackwardNames[kOut], Role::output}},
                 backward_phase1(attributes), aclnnEmbeddingDenseBackward,
                 {HostTensor(dtypes.grad, shape_of_grad(index_dims, columns), layouts.grad, placement),
                  HostTensor(index_dtype, index_dims, layouts.indices, placement),
                  HostTensor(dtypes.out, {attributes.table_rows, columns}, layouts.out, placement)}),
        attributes_(attributes) {}

  const BackwardAttributes& attributes() const { return attributes_; }
  int64_t columns() const { return (*this)[kOut].dims()[1]; }

  void fill_grad(Random& random) {
    for (int64_t i = 0; i < (*this)[kGrad].numel(); ++i) {
      (*this)[kGrad].set(i, random.signed_magnitude(-12, 3));
    }
  }
  void fill_grad_with_anything(Random& random) { fill_with_anything((*this)[kGrad], random, 20); }
  void fill_indices(Random& random) {
    for (int64_t i = 0; i < (*this)[kIndices].numel(); ++i) {
      (*this)[kIndices].set(i, static_cast<double>(random.below(attributes_.table_rows)));
    }
  }
  void fill(Random& random) {
    fill_grad(random);
    fill_indices(random);
  }

  Occurrences occurrences() const {
    const HostTensor& indices = (*this)[kIndices];
    return find_occurrences(attributes_, indices.numel(),
                            [&](int64_t n) { return index_number(indices.dtype(), indices.bits(n)); });
  }

  // Calls visit(element of out, its terms) for every element, in row-major order.
  template <class Visit>
  void for_each_element(const Visit& visit) const {
    std::vector<float> terms;
    int64_t element = 0;
    for (const std::vector<int64_t>& positions : occurrences().of_row) {
      for (int64_t c = 0; c < columns(); ++c) {
        terms.clear();
        for (const int64_t n : positions) {
          terms.push_back(static_cast<float>((*this)[kGrad].get(n * columns() + c)));
        }
        visit(element++, std::span<const float>(terms));
      }
    }
  }

  // The bits of out that the contract prescribes for the current contents.
  std::vector<uint64_t> expected() const {
    std::vector<uint64_t> bits;
    for_each_element([&](int64_t, std::span<const float> terms) {
      bits.push_back(prescribed_bits((*this)[kOut].dtype(), terms, attributes_.scale));
    });
    return bits;
  }

  // Runs the call and compares everything: bits of out, untouched grad, indices and gaps. The outcome must be
  // success, or with out-of-range indices the report of the first of them.
  ::testing::AssertionResult run_and_compare(const RunOptions& options = {}) {
    const std::vector<uint64_t> wanted = expected();
    remember();
    const Outcome outcome = run(options);
    if (!outcome.workspace_intact) return ::testing::AssertionFailure() << outcome.text();
    const Occurrences found = occurrences();
    if (auto as_promised =
            found.out_of_range == 0 ? succeeded(outcome) : failed_in_sync(outcome, fault_parts(found));
        !as_promised) {
      return as_promised;
    }
    if (auto intact = memory_intact(); !intact) return intact;
    return has_bits(kOut, wanted);
  }

  // The parts of the report other than the value.
  std::vector<std::string> fault_parts(const Occurrences& found) const {
    return {kBackwardPhase2, "indices[" + std::to_string(found.first_out_of_range) + "] = ",
            "outside [0, " + std::to_string(attributes_.table_rows) + ")",
            std::to_string(found.out_of_range) + " of " + std::to_string((*this)[kIndices].numel()) +
                " indices were skipped"};
  }

 private:
  static Shape shape_of_grad(Shape index_dims, int64_t columns) {
    index_dims.push_back(columns);
    return index_dims;
  }

  BackwardAttributes attributes_;
};

}  // namespace openaclnn_test
