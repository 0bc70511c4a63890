// Calls whose tensors are arrays of Python, and the list of operators.
#include "call.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "base/npy_header.h"
#include "verify/number.h"
#include "verify/room_descriptions.h"
#include "words.h"

namespace openaclnn::python {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::tensor: return "tensor";
    case Kind::tensor_list: return "tensor_list";
    case Kind::integers: return "integers";
    case Kind::real: return "real";
    case Kind::integer: return "integer";
    case Kind::flag: return "flag";
    default: return "text";
  }
}

std::string dtype_word(aclDataType dtype) { return openaclnn_verify::dtype_name(dtype); }

const char* role_text(Role role) {
  return role == Role::input ? "input" : role == Role::output ? "output" : "updated";
}

// (name in Python, name in C, kind, role, whether it is optional, default, NumPy's texts of the dtypes)
nb::tuple parameter_tuple(const Description& description, const Parameter& parameter) {
  nb::list dtypes;
  if (parameter.is_tensor())
    for (const aclDataType dtype : description.dtypes_of(parameter)) dtypes.append(npy_type(dtype));
  return nb::make_tuple(python_name(description, parameter), parameter.name, kind_text(parameter.kind),
                        role_text(parameter.role), parameter.is_optional, parameter.fallback,
                        nb::tuple(dtypes));
}

nb::list operators() {
  nb::list functions;
  for (const Description& description : openaclnn_verify::descriptions()) {
    nb::list parameters;
    for (const Parameter& parameter : description.parameters)
      parameters.append(parameter_tuple(description, parameter));
    functions.append(nb::make_tuple(description.function, nb::tuple(parameters)));
  }
  return functions;
}

// The dtypes of a result: those of its parameter, or the one of another tensor of the call.
std::vector<aclDataType> dtypes_of_result(const openaclnn_judge::Call& call, const Parameter& parameter) {
  const auto other = call.inputs.find(parameter.dtypes.same_as);
  if (other != call.inputs.end() && !other->second.empty()) return {other->second[0].dtype};
  return call.description->dtypes_of(parameter);
}

void require_dtype(const openaclnn_judge::Call& call, const std::string& name, aclDataType dtype) {
  const Parameter& parameter = *call.description->find(name);
  const std::vector<aclDataType> accepted = dtypes_of_result(call, parameter);
  if (std::ranges::find(accepted, dtype) != accepted.end()) return;
  std::string words;
  for (const aclDataType one : accepted) words += (words.empty() ? "" : ", ") + dtype_word(one);
  throw nb::value_error((python_name(*call.description, parameter) + " is " + dtype_word(dtype) +
                         "; the call determines " + words)
                            .c_str());
}

}  // namespace

HostArray::HostArray(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
                     nb::object bytes)
    : owner_(std::move(bytes)) {
  using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  const auto memory = nb::cast<Bytes>(owner_);
  const aclDataType type = dtype_of_numpy_text(dtype);
  if (openaclnn_verify::element_bytes(type) == 0)
    throw nb::type_error((name + " has the dtype " + dtype +
                          "; accepted are float32, float16, bfloat16, float64, bool, complex and integers")
                             .c_str());
  array_ = openaclnn_verify::borrowed_array(type, std::move(shape), memory.data());
  if (array_.bytes() != static_cast<int64_t>(memory.size()))
    throw nb::value_error((name + " has " + std::to_string(memory.size()) + " bytes; its shape needs " +
                           std::to_string(array_.bytes()))
                              .c_str());
}

Call::Call(const std::string& function) {
  call_.description = openaclnn_verify::find_description(function);
  if (call_.description == nullptr) throw std::invalid_argument("there is no operator " + function);
  call_.label = description().name();
}

std::string Call::in_python(std::string_view text) const { return with_python_names(text, description()); }

void Call::add_input(const std::string& parameter, const HostArray& array) {
  kept_.push_back(array.owner());
  openaclnn_judge::add_input(call_, parameter, array.array());
}

void Call::add(openaclnn_judge::Tensors& tensors, const std::string& parameter, const HostArray& array) {
  require_dtype(call_, parameter, array.array().dtype);
  kept_.push_back(array.owner());
  tensors[parameter].push_back(array.array());
}

void Call::add_result(const std::string& parameter, const HostArray& array) {
  add(call_.results, parameter, array);
}

void Call::add_third(const std::string& parameter, const HostArray& array) {
  add(call_.third, parameter, array);
}

void Call::set_integers(const std::string& parameter, std::vector<int64_t> values) {
  call_.values.integers[parameter] = std::move(values);
}

void Call::set_real(const std::string& parameter, double value) { call_.values.reals[parameter] = value; }

void Call::set_text(const std::string& parameter, std::string value) {
  call_.values.texts[parameter] = std::move(value);
}

void add_calls(nb::module_& module) {
  using namespace nb::literals;
  module.def("operators", &operators,
             "(function, parameters) of each; a parameter is (name, name in C, kind, role, is optional, "
             "default, dtypes).");
  nb::class_<HostArray>(module, "HostArray")
      .def(nb::init<const std::string&, const std::string&, std::vector<int64_t>, nb::object>(), "name"_a,
           "dtype"_a, "shape"_a, "bytes"_a);
  nb::class_<Call>(module, "Call")
      .def(nb::init<const std::string&>(), "function"_a)
      .def("add_input", &Call::add_input, "parameter"_a, "array"_a)
      .def("add_result", &Call::add_result, "parameter"_a, "array"_a)
      .def("add_third", &Call::add_third, "parameter"_a, "array"_a)
      .def("set_integers", &Call::set_integers, "parameter"_a, "values"_a)
      .def("set_real", &Call::set_real, "parameter"_a, "value"_a)
      .def("set_text", &Call::set_text, "parameter"_a, "value"_a)
      .def("set_label", &Call::set_label, "label"_a);
}

}  // namespace openaclnn::python
