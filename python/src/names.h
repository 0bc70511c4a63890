// Translates error messages of the C interface to the words of Python.
#pragma once

#include <string>

#include "array.h"

namespace openaclnn::python {

// The function that the user called, and the library of its first array. Without a function, messages name
// the operator.
struct Caller {
  const char* function = nullptr;
  Library library = Library::other;
};

// "aclnnNsaCompressGetWorkspaceSize: compressStride is 0; …" becomes "nsa_compress: compress_stride is 0; …".
// Dtypes get the names of the caller's library, such as torch.float64 for ACL_DOUBLE.
std::string in_python(std::string_view sentence, const Caller& caller);

// "torch.float64" for ACL_DOUBLE. Dtypes that arrays cannot have keep their C names.
std::string dtype_text(aclDataType dtype, Library library);

}  // namespace openaclnn::python
