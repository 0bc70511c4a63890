// One call of EmbeddingDenseBackward in a test: three tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/embedding_dense_backward/verify/cases.h"
#include "ops/embedding_dense_backward/verify/oracle.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr aclDataType kTableDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
inline constexpr aclDataType kIndexDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8,
                                               ACL_INT16, ACL_INT32,   ACL_INT64,  ACL_BOOL};
inline constexpr const char* kBackwardPhase1 = "aclnnEmbeddingDenseBackwardGetWorkspaceSize";
inline constexpr const char* kBackwardPhase2 = "aclnnEmbeddingDenseBackward";

struct DtypePair {
  aclDataType grad, out;
};
inline std::vector<DtypePair> dtype_pairs() {
  std::vector<DtypePair> pairs;
  for (const aclDataType grad : kTableDtypes) {
    for (const aclDataType out : kTableDtypes) pairs.push_back({grad, out});
  }
  return pairs;
}
inline std::ostream& operator<<(std::ostream& stream, const DtypePair& pair) {
  return stream << "grad of dtype " << pair.grad << ", out of dtype " << pair.out;
}

struct Layouts {
  Layout grad = Layout::contiguous, indices = Layout::contiguous, out = Layout::contiguous;
};

class BackwardCall {
 public:
  BackwardCall(DtypePair dtypes, aclDataType index_dtype, const Shape& index_dims, int64_t columns,
               const BackwardAttributes& attributes, const Layouts& layouts = {},
               Placement placement = Placement::ends_at_guard)
      : attributes_(attributes) {
    Shape grad_dims = index_dims;
    grad_dims.push_back(columns);
    tensors_.emplace_back(dtypes.grad, grad_dims, layouts.grad, placement);
    tensors_.emplace_back(index_dtype, index_dims, layouts.indices, placement);
    tensors_.emplace_back(dtypes.out, Shape{attributes.table_rows, columns}, layouts.out, placement);
  }

  HostTensor& operator[](int which) { return tensors_[static_cast<size_t>(which)]; }
  const HostTensor& operator[](int which) const { return tensors_[static_cast<size_t>(which)]; }
  void replace(int which, HostTensor tensor) { (*this)[which] = std::move(tensor); }
  const BackwardAttributes& attributes() const { return attributes_; }
  int64_t columns() const { return (*this)[kOut].dims()[1]; }

  void fill_grad(Random& random) {
    for (int64_t i = 0; i < (*this)[kGrad].numel(); ++i) {
      (*this)[kGrad].set(i, random.sign() * random.magnitude(-12, 3));
    }
  }
  // Any bits at all, with the special values often.
  void fill_grad_with_anything(Random& random) {
    HostTensor& grad = (*this)[kGrad];
    const double inf = std::numeric_limits<double>::infinity();
    const FloatFormat& format = *float_format(grad.dtype());
    const double smallest = std::ldexp(1.0, format.min_exponent - format.precision + 1);
    const double largest = std::ldexp(1.5, format.max_exponent);
    const double specials[] = {0.0,      -0.0,          inf,     -inf,    std::nan(""),
                               smallest, -3 * smallest, largest, -largest};
    for (int64_t i = 0; i < grad.numel(); ++i) {
      if (random.chance(20)) {
        grad.set(i, specials[random.below(std::size(specials))]);
      } else if (random.chance(10)) {
        grad.set_bits(i, random.bits());
      } else {
        grad.set(i, random.sign() * random.magnitude(-14, 4));
      }
    }
  }
  void fill_indices(Random& random) {
    for (int64_t i = 0; i < (*this)[kIndices].numel(); ++i) {
      (*this)[kIndices].set(i, static_cast<double>(random.below(attributes_.table_rows)));
    }
  }
  void fill(Random& random) {
    fill_grad(random);
    fill_indices(random);
  }

  Outcome run(const RunOptions& options = {}) const {
    const HostTensor* const pointers[] = {&(*this)[kGrad], &(*this)[kIndices], &(*this)[kOut]};
    return run_operator(pointers, backward_phase1(attributes_), aclnnEmbeddingDenseBackward, options);
  }

  Occurrences occurrences() const {
    const HostTensor& indices = (*this)[kIndices];
    return find_occurrences(attributes_, indices.numel(),
                            [&](int64_t n) { return index_number(indices.dtype(), indices.bits(n)); });
  }

  // visit(element of out, its terms) for every element, in row-major order.
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

  // The bits of out that the contract prescribes for the present contents.
  std::vector<uint64_t> expected() const {
    std::vector<uint64_t> bits;
    for_each_element([&](int64_t, std::span<const float> terms) {
      bits.push_back(prescribed_bits((*this)[kOut].dtype(), terms, attributes_.scale));
    });
    return bits;
  }

  // Runs and compares everything: bits of out, grad and indices untouched, gaps untouched. The outcome must be success, or with
  // out-of-range indices the report that names the first of them.
  ::testing::AssertionResult run_and_compare(const RunOptions& options = {}) {
    const std::vector<uint64_t> wanted = expected();
    (*this)[kGrad].remember();
    (*this)[kIndices].remember();
    const Outcome outcome = run(options);
    if (!outcome.workspace_intact) return ::testing::AssertionFailure() << outcome.text();
    const Occurrences found = occurrences();
    if (auto as_promised =
            found.out_of_range == 0 ? succeeded(outcome) : failed_in_sync(outcome, fault_parts(found));
        !as_promised) {
      return as_promised;
    }
    return compare(wanted);
  }

  // What the report says besides the value.
  std::vector<std::string> fault_parts(const Occurrences& found) const {
    return {kBackwardPhase2, "indices[" + std::to_string(found.first_out_of_range) + "] = ",
            "outside [0, " + std::to_string(attributes_.table_rows) + ")",
            std::to_string(found.out_of_range) + " of " + std::to_string((*this)[kIndices].numel()) +
                " indices were skipped"};
  }

  ::testing::AssertionResult compare(const std::vector<uint64_t>& wanted) const {
    if (!(*this)[kGrad].unchanged()) return ::testing::AssertionFailure() << "grad was written to";
    if (!(*this)[kIndices].unchanged()) return ::testing::AssertionFailure() << "indices was written to";
    if (!(*this)[kOut].gaps_intact()) return ::testing::AssertionFailure() << "bytes around out changed";
    return same_bits(wanted);
  }

  ::testing::AssertionResult same_bits(const std::vector<uint64_t>& wanted) const {
    const std::vector<uint64_t> got = (*this)[kOut].all_bits();
    if (got.size() != wanted.size()) return ::testing::AssertionFailure() << "sizes differ";
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[i]) continue;
      const size_t width = static_cast<size_t>(columns());
      return ::testing::AssertionFailure() << "out[" << i / width << ", " << i % width << "] is " << std::hex
                                           << got[i] << ", must be " << wanted[i];
    }
    return ::testing::AssertionSuccess();
  }

 private:
  BackwardAttributes attributes_;
  std::vector<HostTensor> tensors_;
};

}  // namespace openaclnn_test
