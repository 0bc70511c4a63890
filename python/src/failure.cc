// Converts failures of the C interface to Python exceptions.
#include "failure.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string_view>

#include "acl/acl.h"

namespace openaclnn::python {

namespace nb = nanobind;

namespace {

struct Line {
  std::string sentence, name;
};

// A line of error text is "function: error message [161002 ACLNN_ERR_PARAM_INVALID]".
Line parse(std::string_view line) {
  const size_t bracket = line.rfind(" [");
  if (bracket == std::string_view::npos || !line.ends_with(']')) return {std::string(line), "UNKNOWN"};
  const std::string_view tail = line.substr(bracket + 2, line.size() - bracket - 3);
  const size_t blank = tail.find(' ');
  const std::string_view name = blank == std::string_view::npos ? tail : tail.substr(blank + 1);
  return {std::string(line.substr(0, bracket)), std::string(name)};
}

void raise(const Failure& failure) {
  try {
    const std::string_view text = failure.what();
    const Line line = parse(text.substr(0, text.find('\n')));  // the newest one comes first
    const nb::object make = nb::module_::import_("openaclnn.errors").attr("error_of");
    const nb::object error = make(failure.code(), line.name, in_python(line.sentence, failure.caller()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& other) {
    other.restore();
  }
}

}  // namespace

void require_success(int code, const Caller& caller) {
  if (code == 0) return;
  const char* const text = aclGetRecentErrMsg();
  throw Failure(code, text != nullptr ? text : "the library gave no reason", caller);
}

void register_failures() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure);
    }
  });
}

}  // namespace openaclnn::python
