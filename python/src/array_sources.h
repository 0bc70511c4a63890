// The ways to look into an array, one per protocol; array.cc chooses among them.
#pragma once

#include "array.h"

namespace openaclnn::python {

// NumPy, through its C interface. false: the object is no NumPy array.
void import_numpy();
bool describe_numpy(nb::handle object, const Name& name, Array& array);
bool is_exactly_numpy(nb::handle object);  // and no class derived from its arrays; costs next to nothing
bool is_numpy_bool(nb::handle object);     // a scalar
bool is_numpy_integer(nb::handle object);  // a scalar
nb::object allocate_numpy(aclDataType dtype, std::span<const int64_t> dims);
// Objects with the buffer protocol or __array_interface__ become NumPy arrays of the same memory.
bool describe_buffer(nb::handle object, const Name& name, Array& array);

// PyTorch. Newer versions have a table of C functions for looking into tensors, which takes some nanoseconds; older ones are asked
// through Python.
bool describe_torch(nb::handle object, const Name& name, Array& array);

// Everything else that has __dlpack__: JAX, CuPy, …
bool describe_dlpack(nb::handle object, const Name& name, Array& array);

// The name of a dtype in PyTorch, CuPy and the array API standard; NULL when no operator has it.
const char* dtype_word(aclDataType dtype);

// The dtype of DLPack's code, bits and lanes; ACL_DT_UNDEFINED when no operator has it.
aclDataType dtype_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);

// Copies dims and strides (NULL: contiguous) and checks the rank.
void set_layout(Array& array, const Name& name, int64_t rank, const int64_t* dims, const int64_t* strides);

// Sets the strides of a row-major array of its shape. ValueError when 64 bits do not hold the number of elements.
void set_contiguous(Array& array, const Name& name);

// A module that the program has imported already, or None: looking at arrays imports nothing.
nb::object imported_module(const char* name);

}  // namespace openaclnn::python
