// Facts that operators need about a Python array of any library: the address of its elements, their type
// and layout.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "acl/acl_base.h"
#include "base/dtype.h"
#include "base/max_rank.h"
#include "base/text.h"

namespace openaclnn::python {

namespace nb = nanobind;

inline constexpr int kMostDims = kMaxRank;

// The library of an array, which allocates results that the caller did not provide.
enum class Library { numpy, torch, jax, cupy, other };

// Kinds of memory, numbered as in DLPack.
enum class Memory : int32_t { cpu = 1, cuda = 2, cuda_host = 3 };

// "grad", or "grad[3]" in a list. The text is only made when it is needed.
struct Name {
  const char* word;
  Py_ssize_t index = -1;

  std::string text() const;
};

// A borrowed view. The original object must outlive it; `keeper` holds objects made during the conversion,
// if any.
struct Array {
  void* data = nullptr;
  aclDataType dtype = ACL_DT_UNDEFINED;
  int rank = 0;
  bool is_writable = true;
  Library library = Library::other;
  int32_t memory = static_cast<int32_t>(Memory::cpu);
  int32_t device = 0;
  std::array<int64_t, kMostDims> dims;     // the first `rank` count
  std::array<int64_t, kMostDims> strides;  // in elements
  nb::object keeper;

  std::span<const int64_t> shape() const { return {dims.data(), static_cast<size_t>(rank)}; }
  bool is_empty() const;
  // Throws ValueError if the result exceeds 64 bits.
  int64_t numel(const Name& name) const;
};

// Describes an array of NumPy, PyTorch, JAX, CuPy or any other library with DLPack, the buffer protocol or
// __array_interface__. Nothing is copied. Throws TypeError for anything else, and passes on the library's
// own exceptions.
Array describe(nb::handle object, const Name& name);

// The same for an array that is written: throws ValueError if it is read-only.
Array describe_output(nb::handle object, const Name& name);

// Returns an uninitialised array of the library and device of `like`.
nb::object allocate(nb::handle like, const Array& model, aclDataType dtype, std::span<const int64_t> dims);

// The same with one element of the given value. For libraries that support GPUs.
nb::object allocate_full(nb::handle like, const Array& model, aclDataType dtype, const nb::object& value);

// Returns the caller's form of an array of `allocate` after it is written. JAX's arrays cannot be written,
// so its results are made of NumPy arrays.
nb::object finished(nb::object array, Library library);

}  // namespace openaclnn::python
