// Numbers among the arguments of a call. Each is rejected with an error message that names it. nanobind's
// own conversion would reject the call as a whole, and does not accept NumPy scalars as ints and bools.
#pragma once

#include <cstdint>
#include <optional>

#include <nanobind/nanobind.h>

namespace openaclnn::python {

namespace nb = nanobind;

// An object that no function accepts.
nb::handle missing();
// A required argument. nanobind would reject a call without it as a whole and not name it. The default costs
// nothing if the argument is given.
inline auto required(const char* name) { return nb::arg(name).none() = missing(); }
// Throws TypeError if the object is that default. Called before an object of a wrong type is rejected.
void require_given(nb::handle object, const char* name);

// Accepts anything with __float__ or __index__: a float, an int, a NumPy scalar, a tensor of one element.
double to_real(nb::handle object, const char* name);

// Accepts anything with __index__ that fits 64 bits; rejects floats, so that nothing is truncated.
int64_t to_integer(nb::handle object, const char* name);

// The same or None.
std::optional<int64_t> to_optional_integer(nb::handle object, const char* name);

// Accepts a bool, of Python or NumPy, or an int that is 0 or 1.
bool to_flag(nb::handle object, const char* name);

}  // namespace openaclnn::python
