// Tests that plan() rejects an argument with a dtype that the checks of an operator should have rejected.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ops/contract.h"
#include "support/argument.h"

namespace openaclnn_test {

inline void expect_refused_by_plan(const openaclnn::Result<openaclnn::Call>& planned, const std::string& name,
                                   const std::string& dtype) {
  ASSERT_FALSE(planned.ok()) << name;
  EXPECT_EQ(planned.status().code(), ACLNN_ERR_INNER) << name;
  EXPECT_EQ(planned.status().sentence(),
            "internal error: " + name + " has dtype " + dtype +
                ", which no kernel is compiled for; the checks should have rejected it");
}

}  // namespace openaclnn_test
