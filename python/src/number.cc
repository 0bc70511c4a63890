// Converts Python numbers to tensors of one element.
#include "number.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "array_sources.h"

namespace openaclnn::python {

namespace {

[[noreturn]] void refuse_integer(nb::handle object, const char* name) {
  PyErr_Clear();
  const std::string text = nb::cast<std::string>(nb::str(object));
  throw nb::type_error(
      (std::string(name) + " is " + text + "; an int of 64 bits or an array of one element is needed")
          .c_str());
}

// Arrays also have __index__ and __float__; these objects are not arrays.
bool is_number(nb::handle object, int64_t) {
  if (PyLong_Check(object.ptr()) || is_numpy_integer(object)) return true;
  return PyIndex_Check(object.ptr()) != 0 && !nb::hasattr(object, "dtype");
}
bool is_number(nb::handle object, float) { return PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()); }

void convert(nb::handle object, const char* name, int64_t& value) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  int overflows = 1;
  if (index.is_valid()) value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflows);
  if (overflows != 0) refuse_integer(object, name);
}

void convert(nb::handle object, const char*, float& value) {
  const double number = PyFloat_AsDouble(object.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  value = static_cast<float>(number);
}

}  // namespace

template <class T>
Number<T>::Number(Place& place, nb::handle object, const char* name, aclDataType dtype) {
  if (std::is_same_v<T, int64_t> && (object.is_none() || PyFloat_Check(object.ptr())))
    refuse_integer(object, name);
  if (object.is_none()) return;
  is_given_ = true;
  const bool is_array = !is_number(object, T());
  T value = 0;
  if (!is_array) convert(object, name, value);
  if (!is_array && !computes_on_gpu()) {
    const auto stored = std::make_shared<T>(value);
    array_.data = stored.get();
    array_.dtype = dtype;
    place.use(stored);
  } else {
    kept_ = is_array ? nb::borrow(object) : place.allocate_number(nb::cast(value), dtype);
    array_ = place.input(kept_, {name});
  }
}

template <class T>
std::optional<T> Number<T>::host_value() const {
  constexpr aclDataType kType = std::is_same_v<T, int64_t> ? ACL_INT64 : ACL_FLOAT;
  const bool is_here = static_cast<Memory>(array_.memory) == Memory::cpu;
  if (!is_given_ || !is_here || array_.dtype != kType || array_.is_empty()) return std::nullopt;
  T value = 0;
  std::memcpy(&value, array_.data, sizeof value);
  return value;
}

template class Number<int64_t>;
template class Number<float>;

}  // namespace openaclnn::python
