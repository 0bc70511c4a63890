// Goldens as arrays of NumPy.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/npy_header.h"
#include "call.h"
#include "verify/number.h"
#include "words.h"

namespace openaclnn::python {

using openaclnn_verify::Array;
using openaclnn_verify::Golden;
using openaclnn_verify::GoldenOutput;

namespace {

// Moves the elements into an array of one dimension that owns them.
template <class Elements>
nb::object array_of(Elements elements) {
  auto owned = std::make_unique<Elements>(std::move(elements));
  auto* const data = owned->data();
  const size_t size = owned->size();
  const nb::capsule owner(owned.release(), [](void* kept) noexcept { delete static_cast<Elements*>(kept); });
  return nb::cast(nb::ndarray<nb::numpy, typename Elements::value_type, nb::ndim<1>>(data, {size}, owner));
}

nb::object bytes_of(const std::byte* data, int64_t size) {
  const auto* const first = reinterpret_cast<const uint8_t*>(data);
  return array_of(std::vector<uint8_t>(first, first + size));
}

// "var", or "var[3]" in a list.
std::string name_of(const Call& call, const GoldenOutput& output) {
  const openaclnn_verify::Parameter* const parameter = call.description().find(output.parameter);
  std::string name = python_name(call.description(), *parameter);
  if (parameter->kind == openaclnn_verify::Kind::tensor_list)
    name += "[" + std::to_string(output.list_index) + "]";
  return name;
}

// (name, dtype, shape, exact, bound, ours). Real numbers have `exact` and `bound` in float64. Other elements are copied: `exact` is
// their bytes, and `bound` is None. `ours` is bytes.
nb::tuple output_tuple(const Call& call, GoldenOutput& output, const Array& ours) {
  const bool is_float = openaclnn_verify::float_format(output.dtype) != nullptr;
  const auto copied = static_cast<int64_t>(output.copied.size());
  return nb::make_tuple(name_of(call, output), npy_type(output.dtype), nb::tuple(nb::cast(output.dims)),
                        is_float ? array_of(std::move(output.exact)) : bytes_of(output.copied.data(), copied),
                        is_float ? array_of(std::move(output.bound)) : nb::none(),
                        bytes_of(ours.data.get(), ours.bytes()));
}

// The outputs, and the error message of bad data, such as an index out of range.
nb::tuple golden(const Call& call, int threads) {
  Golden golden;
  openaclnn_judge::OurResults ours;
  try {
    const nb::gil_scoped_release unlocked;
    golden = openaclnn_judge::golden_of(call.call(), threads);
    ours = openaclnn_judge::run_here(call.call());
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(call.in_python(error.what()).c_str());
  }
  nb::list outputs;
  for (GoldenOutput& output : golden.outputs)
    outputs.append(output_tuple(call, output, ours.results.at(output.parameter).at(output.list_index)));
  return nb::make_tuple(outputs, call.in_python(ours.fault));
}

}  // namespace

void add_goldens(nb::module_& module) {
  using namespace nb::literals;
  module.def("golden", &golden, "call"_a, "threads"_a);
}

}  // namespace openaclnn::python
