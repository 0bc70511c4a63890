// Translates error messages of the C interface to the names that arguments have in Python.
#pragma once

#include <string>
#include <string_view>

namespace openaclnn::python {

// "aclnnNsaCompress…: compressStride is 0; …" names compress_stride. Everything else stays, including the
// names of C functions.
std::string with_python_names(std::string_view sentence);

}  // namespace openaclnn::python
