// Each property runs the case and compares all elements of all outputs.
#include "properties/case_properties.h"

#include <algorithm>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

bool is_result(const Case& c, size_t k) { return c.tensors[k].role != Role::input; }

Case contiguous(Case c) {
  for (TensorCase& tensor : c.tensors) tensor.layout = Layout::contiguous;
  return c;
}

void expect_same_results(const Case& c, const std::vector<HostTensor>& got,
                         const std::vector<HostTensor>& wanted) {
  for (size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_TRUE(got[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
    EXPECT_TRUE(got[k].same_elements(wanted[k])) << c.tensors[k].name;
    if (is_result(c, k)) count_comparison(wanted[k]);
  }
}

std::vector<HostTensor> results_of(const Case& c) {
  std::vector<HostTensor> tensors = make_tensors(c);
  EXPECT_TRUE(succeeded(run_case(c, tensors)));
  return tensors;
}

}  // namespace

void follows_the_formula(const Case& c) {
  std::vector<HostTensor> tensors = make_tensors(c);
  const std::vector<HostTensor> before = before_call(c, tensors);
  for (HostTensor& tensor : tensors) tensor.remember();
  EXPECT_TRUE(succeeded(run_case(c, tensors)));
  Judge judge;
  judge_case(c, before, tensors, judge);
  EXPECT_TRUE(judge.ok()) << judge.messages();
  int64_t judged = 0, results = 0;
  judge.for_each([&](const OutputRecord& record) { judged += record.elements() - record.skipped(); });
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (!is_result(c, k)) {
      EXPECT_TRUE(tensors[k].unchanged()) << c.tensors[k].name << " was written to";
      continue;
    }
    EXPECT_TRUE(tensors[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
    results += tensors[k].numel();
    count_comparison(tensors[k]);
  }
  // Elements that the judge skipped were not compared.
  comparisons().telling -= results - judged;
}

void views_change_nothing(const Case& c, Draw& draw) {
  const Case plain = contiguous(c);
  const std::vector<HostTensor> filled = make_tensors(plain);
  std::vector<HostTensor> views;
  for (const HostTensor& tensor : filled) {
    views.push_back(
        tensor.copy(draw.layout(), draw.chance(2) ? Placement::ends_at_guard : Placement::starts_at_guard));
  }
  EXPECT_TRUE(succeeded(run_case(plain, views)));
  expect_same_results(plain, views, results_of(plain));
}

void kept_executors_change_nothing(const Case& c) {
  const std::vector<HostTensor> wanted = results_of(c);
  const std::vector<HostTensor> first = make_tensors(c), second = make_tensors(c);
  std::vector<Descriptor> descriptors;
  std::vector<aclTensor*> handles;
  for (const HostTensor& tensor : first) handles.push_back(descriptors.emplace_back(tensor.describe()).get());
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(c.phase1(handles, &workspace_bytes, &executor), 0) << take_error_text();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  EXPECT_TRUE(succeeded(run_phase2(c.phase2, executor, workspace_bytes)));
  expect_same_results(c, first, wanted);
  // Runs again from the initial values.
  for (size_t k = 0; k < first.size(); ++k) {
    const int64_t bytes = element_bytes(first[k].dtype());
    for (int64_t i = 0; i < first[k].numel(); ++i)
      std::copy_n(second[k].element(i), bytes, first[k].element(i));
  }
  EXPECT_TRUE(succeeded(run_phase2(c.phase2, executor, workspace_bytes)));
  expect_same_results(c, first, wanted);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

uint64_t result_hash(const Case& c) {
  uint64_t hash = hash_text(c.name);
  const std::vector<HostTensor> results = results_of(c);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!is_result(c, k)) continue;
    const std::vector<std::byte> bytes = results[k].all_bytes();
    hash = hash_bytes(bytes.data(), bytes.size(), hash);
    count_comparison(results[k]);
  }
  return hash;
}

}  // namespace openaclnn_test
