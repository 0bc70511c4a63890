// Numbers of Python as tensors of one element.
#include "number.h"

#include <nanobind/stl/string.h>

#include <string>

namespace openaclnn::python {

namespace {

void convert(nb::handle object, const char* name, int64_t& value) {
  int overflows = 0;
  if (PyLong_Check(object.ptr())) value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflows);
  if (PyLong_Check(object.ptr()) && overflows == 0) return;
  const std::string text = nb::cast<std::string>(nb::str(object));
  throw nb::type_error(
      (std::string(name) + " is " + text + "; an int of 64 bits or an int64 array is needed").c_str());
}

void convert(nb::handle object, const char*, float& value) {
  const double number = PyFloat_AsDouble(object.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  value = static_cast<float>(number);
}

}  // namespace

template <class T>
Number<T>::Number(Place& place, nb::handle object, const char* name, aclDataType dtype) {
  if (object.is_none()) return;
  is_given_ = true;
  const bool is_array = !PyLong_Check(object.ptr()) && !PyFloat_Check(object.ptr());
  if (!is_array) convert(object, name, value_);
  if (!is_array && !computes_on_gpu()) {
    array_.data = &value_;
    array_.dtype = dtype;
  } else {
    kept_ = is_array ? nb::borrow(object) : place.allocate_number(nb::cast(value_), dtype);
    array_ = place.input(kept_, {name});
  }
}

template class Number<int64_t>;
template class Number<float>;

}  // namespace openaclnn::python
