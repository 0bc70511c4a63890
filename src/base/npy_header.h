// The header of NumPy's .npy files, version 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "acl/acl_base.h"

namespace openaclnn {

// Returns NumPy's name of a dtype, such as "<f4", or nullptr if it has none. BF16 is "<V2", as ml_dtypes
// writes it.
const char* npy_type(aclDataType dtype);

// Returns the bytes before the elements, which follow in row-major order. Empty for dtypes without a name.
std::string npy_header(aclDataType dtype, std::span<const int64_t> dims);

}  // namespace openaclnn
