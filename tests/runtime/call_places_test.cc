// Tests operators with more parameters than executors and tasks can hold: phase 1 rejects them before it
// writes anything.
#include <gtest/gtest.h>

#include <string>

#include "acl/acl.h"
#include "ops/contract.h"

namespace openaclnn {
namespace {

const Operator kWide = {"aclnnWide", [] { return RunFunction(); }, nullptr};

// The arguments of such an operator.
struct Parts {
  int inputs = 0, outputs = 0, unwritten = 0, lists = 0;
};

Result<Call> check_and_plan(const Parts& parts, const PlanContext&) {
  Call call;
  call.op = &kWide;
  Parameter parameter;
  parameter.name = "x";
  const auto add = [&](int count) {
    for (int k = 0; k < count; ++k) call.append() = parameter;
  };
  parameter.is_input = true;
  add(parts.inputs);
  parameter.is_output = true;
  add(parts.outputs);
  parameter.is_list = true;
  add(parts.lists);
  parameter.is_list = false;
  parameter.is_accessed = false;
  add(parts.unwritten);
  return call;
}

// Runs phase 1 of such an operator; destroys its executor after a success.
int phase1_with(const Parts& parts) {
  uint64_t bytes = 7;
  aclOpExecutor* executor = nullptr;
  const auto signature = [&](auto&, Parts& args) { args = parts; };
  const int code = phase1<Parts>("aclnnWideGetWorkspaceSize", &bytes, &executor, signature);
  EXPECT_EQ(code == 0, executor != nullptr);
  EXPECT_EQ(bytes, code == 0 ? 0u : 7u) << "a refused call wrote its size";
  if (executor != nullptr) {
    EXPECT_EQ(destroy_executor(executor).code(), 0);
  }
  return code;
}

void expect_refused(const Parts& parts, const std::string& sentence) {
  (void)aclGetRecentErrMsg();
  EXPECT_EQ(phase1_with(parts), 561000);
  const char* const text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("aclnnWideGetWorkspaceSize: aclnnWide " + sentence), std::string::npos)
      << text;
}

TEST(CallRoom, TwelveParametersAndFourOutputsFit) {
  for (const Parts& parts :
       {Parts{12}, Parts{8, 4}, Parts{.outputs = 4, .unwritten = 8}, Parts{.outputs = 4, .lists = 8}})
    EXPECT_EQ(phase1_with(parts), 0);
}

TEST(CallRoom, AThirteenthParameterIsRefused) {
  const std::string places = " tensors and lists; an executor holds at most 12";
  expect_refused({13}, "has 13" + places);
  expect_refused({.lists = 13}, "has 13" + places);
  expect_refused({.inputs = 9, .outputs = 4}, "has 13" + places);
  expect_refused({1000}, "has 1000" + places);
}

TEST(CallRoom, AFifthOutputIsRefused) {
  const std::string places = " tensors outside of lists; a task holds at most 4";
  expect_refused({.outputs = 5}, "writes 5" + places);
  expect_refused({.inputs = 1, .outputs = 11}, "writes 11" + places);
}

}  // namespace
}  // namespace openaclnn
