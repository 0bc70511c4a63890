// Sentences of the C interface with the names that arguments have in Python.
#pragma once

#include <string>
#include <string_view>

namespace openaclnn::python {

// "aclnnNsaCompress…: compressStride is 0; …" names compress_stride. Everything else stays, functions of C included.
std::string with_python_names(std::string_view sentence);

}  // namespace openaclnn::python
