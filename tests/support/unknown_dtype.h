// Arguments with a dtype that the checks of an operator should have refused, and what plan() says of them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ops/contract.h"

namespace openaclnn_test {

// A vector of one element.
inline openaclnn::Argument argument(const char* name, aclDataType dtype) {
  openaclnn::Argument made;
  made.name = name;
  made.is_given = true;
  made.rank = 1;
  made.view.dtype = dtype;
  made.view.rank = 1;
  made.view.dims[0] = made.view.strides[0] = 1;
  return made;
}

inline void expect_refused_by_plan(const openaclnn::Result<openaclnn::Call>& planned, const std::string& name,
                                   const std::string& dtype) {
  ASSERT_FALSE(planned.ok()) << name;
  EXPECT_EQ(planned.status().code(), ACLNN_ERR_INNER) << name;
  EXPECT_EQ(planned.status().sentence(), "internal error: " + name + " has dtype " + dtype +
                                             ", which no kernel is compiled for; the checks must refuse it");
}

}  // namespace openaclnn_test
