// One call of Embedding in a test: three tensors, their data, and the comparison with the whole contract.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/embedding/verify/cases.h"
#include "ops/embedding/verify/oracle.h"
#include "support/case_call.h"
#include "support/expect.h"
#include "support/platform.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr const char* kEmbeddingPhase1 = "aclnnEmbeddingGetWorkspaceSize";
inline constexpr const char* kEmbeddingPhase2 = "aclnnEmbedding";
inline constexpr Placement kPlacements[] = {Placement::ends_at_guard, Placement::starts_at_guard};

// One dtype of each element size.
inline constexpr aclDataType kEmbeddingSizes[] = {ACL_BOOL, ACL_BF16, ACL_FLOAT, ACL_COMPLEX64,
                                                  ACL_COMPLEX128};

enum class CheckSetting { report, silent };

inline std::string embedding_fault_text(int64_t position, int64_t value, int64_t limit) {
  return "indices[" + std::to_string(position) + "] = " + std::to_string(value) + " is outside [0, " +
         std::to_string(limit) + "); ";
}
inline std::string count_text(int64_t wrong, int64_t total) {
  return std::to_string(wrong) + " of " + std::to_string(total) + " indices";
}

class EmbeddingCall : public CaseCall {
 public:
  EmbeddingCall(HostTensor weight, HostTensor indices, HostTensor out)
      : CaseCall({{kEmbeddingNames[kWeight], Role::input},
                  {kEmbeddingNames[kIndices], Role::input},
                  {kEmbeddingNames[kOut], Role::output}},
                 embedding_phase1, aclnnEmbedding, {std::move(weight), std::move(indices), std::move(out)}) {}
  EmbeddingCall(aclDataType dtype, aclDataType index_dtype, int64_t table_rows, int64_t columns,
                const Shape& index_dims, Layout layout = Layout::contiguous,
                Placement placement = Placement::ends_at_guard)
      : EmbeddingCall(HostTensor(dtype, {table_rows, columns}, layout, placement),
                      HostTensor(index_dtype, index_dims, layout, placement),
                      HostTensor(dtype, embedding_out_shape(index_dims, columns), layout, placement)) {}

  int64_t table_rows() const { return (*this)[kWeight].dims()[0]; }
  void set_index(int64_t position, int64_t value) {
    (*this)[kIndices].set_bits(position, static_cast<uint64_t>(value));
  }

  void fill_weight(Random& random) {
    HostTensor& weight = (*this)[kWeight];
    const int64_t bytes = element_bytes(weight.dtype());
    for (int64_t i = 0; i < weight.numel(); ++i) {
      const uint64_t halves[] = {random.bits(), random.bits()};
      std::memcpy(weight.element(i), halves, static_cast<size_t>(bytes));
    }
  }
  // Any bits in the table, valid indices.
  void fill(Random& random) {
    fill_weight(random);
    if (table_rows() == 0) return;
    for (int64_t i = 0; i < (*this)[kIndices].numel(); ++i) set_index(i, random.below(table_rows()));
  }
  // Runs the call and compares everything: outcome and error message, the bits of out, untouched inputs and
  // gaps.
  ::testing::AssertionResult run_and_compare(CheckSetting setting = CheckSetting::report,
                                             const RunOptions& options = {}) {
    using ::testing::AssertionFailure;
    const EmbeddingExpected wanted = embedding_expected((*this)[kWeight], (*this)[kIndices]);
    remember();
    const Outcome outcome = run(options);
    if (wanted.wrong > 0 && setting == CheckSetting::report) {
      const int64_t value = index_at((*this)[kIndices], wanted.first_wrong);
      if (auto faulted = failed_in_sync(
              outcome,
              {"aclnnEmbedding (stream ", embedding_fault_text(wanted.first_wrong, value, table_rows()),
               "the rows of " + count_text(wanted.wrong, (*this)[kIndices].numel()) + " were set to zero"});
          !faulted) {
        return faulted;
      }
    } else if (auto ran = succeeded(outcome); !ran) {
      return ran;
    }
    if (on_cpu() && outcome.workspace_bytes != 0) return AssertionFailure() << "a workspace was asked for";
    if (auto intact = memory_intact(); !intact) return intact;
    const std::vector<std::byte> got = (*this)[kOut].all_bytes();
    if (got.size() != wanted.out.size()) return AssertionFailure() << "sizes differ";
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted.out[i]) continue;
      return AssertionFailure() << "byte " << i << " of " << got.size() << " is " << static_cast<int>(got[i])
                                << ", must be " << static_cast<int>(wanted.out[i]);
    }
    return ::testing::AssertionSuccess();
  }
};

}  // namespace openaclnn_test
