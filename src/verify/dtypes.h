// Lists of dtypes that several operators accept, in the order in which their error messages name them.
#pragma once

#include <array>

#include "acl/acl_base.h"

namespace openaclnn_verify {

inline constexpr std::array kFloatDtypes = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
inline constexpr std::array kHalfDtypes = {ACL_FLOAT16, ACL_BF16};
inline constexpr std::array kIndexDtypes = {ACL_INT32, ACL_INT64};

}  // namespace openaclnn_verify
