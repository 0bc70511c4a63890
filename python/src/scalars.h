// Numbers among the arguments of a call, each refused with a sentence that names it. nanobind's own conversion would refuse the call
// as a whole, and takes no scalars of NumPy for ints and bools.
#pragma once

#include <cstdint>
#include <optional>

#include <nanobind/nanobind.h>

namespace openaclnn::python {

namespace nb = nanobind;

// Anything with __float__ or __index__: a float, an int, a scalar of NumPy, a tensor of one element.
double to_real(nb::handle object, const char* name);

// Anything with __index__ that fits 64 bits; no float, so that nothing is cut off.
int64_t to_integer(nb::handle object, const char* name);

// The same or None.
std::optional<int64_t> to_optional_integer(nb::handle object, const char* name);

// A bool, of Python or NumPy, or an int that is 0 or 1.
bool to_flag(nb::handle object, const char* name);

}  // namespace openaclnn::python
