// Reads the tensor files of dumps.
#pragma once

#include <string>

#include "verify/array.h"

namespace openaclnn_judge {

// Returns the only tensor of a file. Throws files::BadInput with an error message that starts with the path.
openaclnn_verify::Array read_dumped_tensor(const std::string& path);

// Requires the dtype and shape that the dump recorded. A file of FLOAT may hold a BF16 tensor, because NumPy lacks
// this dtype.
openaclnn_verify::Array as_recorded(const std::string& path, const openaclnn_verify::Array& array,
                                    aclDataType dtype, const openaclnn_verify::Shape& dims);

// "FLOAT [2, 3]"
std::string shape_text(aclDataType dtype, const openaclnn_verify::Shape& dims);

}  // namespace openaclnn_judge
