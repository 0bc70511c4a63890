// The readers of arrays, one per protocol; array.cc chooses among them.
#pragma once

#include "array.h"

namespace openaclnn::python {

// NumPy, through its C interface. Returns false if the object is not a NumPy array.
void import_numpy();
bool describe_numpy(nb::handle object, const Name& name, Array& array);
bool is_exactly_numpy(nb::handle object);  // excludes classes derived from its arrays; costs almost nothing
bool is_numpy_bool(nb::handle object);     // a scalar
bool is_numpy_integer(nb::handle object);  // a scalar
nb::object allocate_numpy(aclDataType dtype, std::span<const int64_t> dims);
// Converts objects with the buffer protocol or __array_interface__ to NumPy arrays of the same memory.
bool describe_buffer(nb::handle object, const Name& name, Array& array);

// PyTorch. Newer versions have a table of C functions that read tensors within some nanoseconds; older ones
// are read through Python.
bool describe_torch(nb::handle object, const Name& name, Array& array);

// Everything else that has __dlpack__: JAX, CuPy, …
bool describe_dlpack(nb::handle object, const Name& name, Array& array);

// Returns the dtype of DLPack's code, bits and lanes; ACL_DT_UNDEFINED if no operator supports it.
aclDataType dtype_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);

// Copies dims and strides (NULL: contiguous) and checks the rank.
void set_layout(Array& array, const Name& name, int64_t rank, const int64_t* dims, const int64_t* strides);

// Sets the strides of a row-major array of its shape. Throws ValueError if the number of elements exceeds
// 64 bits.
void set_contiguous(Array& array, const Name& name);

// Returns a module that the program has already imported, or an invalid object: reading arrays imports nothing.
nb::object imported_module(const char* name);

}  // namespace openaclnn::python
