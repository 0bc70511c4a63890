// A case after phase 1: the arguments of phase 2, for one or many runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/verify.h"
#include "verify/case.h"

namespace openaclnn_test {

struct PlannedCase {
  const Case* of;
  std::vector<HostTensor> tensors;
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;

  // `executor` stays nullptr when phase 1 fails, and the test fails.
  explicit PlannedCase(const Case& c) : of(&c), tensors(make_tensors(c)) {
    std::vector<Descriptor> descriptors;
    std::vector<aclTensor*> handles;
    for (const HostTensor& tensor : tensors) {
      descriptors.push_back(tensor.describe());
      handles.push_back(descriptors.back().get());
    }
    EXPECT_EQ(c.phase1(handles, &workspace_bytes, &executor), 0) << take_error_text();
  }
};

}  // namespace openaclnn_test
