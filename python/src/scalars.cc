// Converts scalars by Python's number protocol.
#include "scalars.h"

#include <nanobind/stl/string.h>

#include <string>

#include "array_sources.h"

namespace openaclnn::python {

namespace {

[[noreturn]] void refuse_type(nb::handle object, const char* name, const char* needed) {
  PyErr_Clear();
  require_given(object, name);
  const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
  throw nb::type_error((std::string(name) + " is of type " + type + "; " + needed + " is needed").c_str());
}

[[noreturn]] void refuse_value(nb::handle object, const char* name, const char* needed) {
  PyErr_Clear();
  const std::string text = nb::cast<std::string>(nb::str(object));
  throw nb::value_error((std::string(name) + " is " + text + "; " + needed + " is needed").c_str());
}

}  // namespace

nb::handle missing() {
  static PyObject* const object =
      PyObject_CallObject(reinterpret_cast<PyObject*>(&PyBaseObject_Type), nullptr);
  return object;
}

void require_given(nb::handle object, const char* name) {
  if (!object.is(missing())) return;
  throw nb::type_error(("missing required argument: '" + std::string(name) + "'").c_str());
}

double to_real(nb::handle object, const char* name) {
  if (PyFloat_CheckExact(object.ptr())) return PyFloat_AsDouble(object.ptr());
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      refuse_value(object, name, "a number of float64's range");
    refuse_type(object, name, "a number");
  }
  return value;
}

int64_t to_integer(nb::handle object, const char* name) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) refuse_type(object, name, "an int");
  int overflows = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflows);
  if (overflows != 0) refuse_value(object, name, "an int of 64 bits");
  return value;
}

std::optional<int64_t> to_optional_integer(nb::handle object, const char* name) {
  if (object.is_none()) return std::nullopt;
  return to_integer(object, name);
}

bool to_flag(nb::handle object, const char* name) {
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (is_numpy_bool(object)) return PyObject_IsTrue(object.ptr()) == 1;
  if (!PyLong_Check(object.ptr())) refuse_type(object, name, "a bool");
  const int64_t value = to_integer(object, name);
  if (value != 0 && value != 1) refuse_value(object, name, "a bool");
  return value == 1;
}

}  // namespace openaclnn::python
