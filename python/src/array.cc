// Selects the reader for a Python array, and makes arrays for results.
#include "array.h"

#include <algorithm>

#include "array_sources.h"
#include "base/checked.h"
#include "scalars.h"
#include "torch_results.h"

namespace openaclnn::python {

namespace {

// The outermost package of a type, "jaxlib" for jaxlib._jax.ArrayImpl.
std::string package_of(nb::handle object) {
  const nb::object module = nb::getattr(object.type(), "__module__", nb::str(""));
  if (!nb::isinstance<nb::str>(module)) return {};
  const std::string name = nb::cast<std::string>(module);
  return name.substr(0, name.find('.'));
}

Library library_of(const std::string& package) {
  if (package == "jax" || package == "jaxlib") return Library::jax;
  return package == "cupy" ? Library::cupy : Library::other;
}

// The namespace that makes arrays on the device of `like`. `module` is NULL for a library in host
// memory that has no array API standard.
struct Maker {
  nb::object module;
  nb::dict options;
};

Maker maker_of(nb::handle like, const Array& model, aclDataType dtype) {
  Maker maker;
  if (model.library == Library::torch || model.library == Library::cupy) {
    maker.module = nb::module_::import_(model.library == Library::torch ? "torch" : "cupy");
  } else if (nb::hasattr(like, "__array_namespace__")) {
    maker.module = like.attr("__array_namespace__")();
  } else if (static_cast<Memory>(model.memory) == Memory::cuda) {
    throw nb::type_error(("arrays of type " + nb::cast<std::string>(nb::str(like.type())) +
                          " on a GPU cannot be made here; give all outputs, or use PyTorch or CuPy")
                             .c_str());
  } else {
    return maker;
  }
  maker.options["dtype"] = dtype == model.dtype ? nb::object(like.attr("dtype"))
                                                : nb::object(maker.module.attr(array_dtype_name(dtype)));
  // CuPy's functions take the current device.
  if (model.library != Library::cupy) maker.options["device"] = like.attr("device");
  return maker;
}

bool is_jax_tracer(nb::handle object) {
  const nb::object core = imported_module("jax.core");
  return core.is_valid() && nb::isinstance(object, core.attr("Tracer"));
}

}  // namespace

bool Array::is_empty() const {
  return std::ranges::any_of(shape(), [](int64_t dim) { return dim == 0; });
}

int64_t Array::numel(const Name& name) const {
  if (is_empty()) return 0;
  Checked product = 1;
  for (const int64_t dim : shape()) product = product * dim;
  if (!product.ok() || product.value() < 0) {
    throw nb::value_error(
        (name.text() + " has shape " + shape_text(shape()) + "; 64 bits must hold its number of elements")
            .c_str());
  }
  return product.value();
}

std::string Name::text() const {
  return index < 0 ? std::string(word) : std::string(word) + "[" + std::to_string(index) + "]";
}

void set_layout(Array& array, const Name& name, int64_t rank, const int64_t* dims, const int64_t* strides) {
  if (rank > kMostDims) {
    throw nb::value_error((name.text() + " has rank " + std::to_string(rank) + "; at most " +
                           std::to_string(kMostDims) + " dimensions are accepted")
                              .c_str());
  }
  array.rank = static_cast<int>(rank);
  std::copy_n(dims, rank, array.dims.begin());
  if (strides != nullptr) {
    std::copy_n(strides, rank, array.strides.begin());
  } else {
    set_contiguous(array, name);
  }
}

void set_contiguous(Array& array, const Name& name) {
  array.strides.fill(1);
  if (array.numel(name) == 0) return;  // the product of its other dims may exceed 64 bits
  for (int k = array.rank - 1; k > 0; --k) array.strides[k - 1] = array.strides[k] * array.dims[k];
}

nb::object imported_module(const char* name) { return nb::steal(PyImport_GetModule(nb::str(name).ptr())); }

// An array whose __dlpack__ raises is an array: its error says more than ours.
void require_dlpack(nb::handle object, const Name& name) {
  try {
    object.attr("__dlpack__")();
  } catch (nb::python_error& error) {
    nb::raise_from(error, PyExc_TypeError, "%s is of type %s, whose __dlpack__ failed: %s",
                   name.text().c_str(), nb::cast<std::string>(nb::str(object.type())).c_str(),
                   nb::cast<std::string>(nb::str(error.value())).c_str());
  }
}

Array describe(nb::handle object, const Name& name) {
  Array array;
  if (!is_exactly_numpy(object) && describe_torch(object, name, array)) return array;
  if (describe_numpy(object, name, array)) return array;
  const std::string package = package_of(object);
  if (is_jax_tracer(object)) {
    throw nb::type_error(
        (name.text() + " is traced by JAX; inside jax.jit and jax.grad use the functions of openaclnn.jax")
            .c_str());
  }
  if (describe_dlpack(object, name, array)) {
    array.library = library_of(package);
    if (array.library == Library::jax) array.is_writable = false;
    return array;
  }
  if (describe_buffer(object, name, array)) return array;
  if (nb::hasattr(object, "__dlpack__")) require_dlpack(object, name);
  require_given(object, name.word);
  throw nb::type_error(
      (name.text() + " is of type " + nb::cast<std::string>(nb::str(object.type())) +
       "; an array of NumPy, PyTorch, CuPy or JAX is needed (numpy.asarray copies other values)")
          .c_str());
}

Array describe_output(nb::handle object, const Name& name) {
  Array array = describe(object, name);
  if (!array.is_writable) {
    throw nb::value_error((name.text() + (array.library == Library::jax
                                              ? " is an array of JAX, which cannot be written in place; "
                                                "copy it with numpy.array, or use openaclnn.jax, whose "
                                                "functions return new arrays"
                                              : " is read-only; it must be writable"))
                              .c_str());
  }
  return array;
}

nb::object allocate(nb::handle like, const Array& model, aclDataType dtype, std::span<const int64_t> dims) {
  const bool is_on_gpu = static_cast<Memory>(model.memory) == Memory::cuda;
  if (model.library == Library::numpy || model.library == Library::jax) return allocate_numpy(dtype, dims);
  if (!is_on_gpu && model.library != Library::torch && dtype != model.dtype)
    return allocate_numpy(dtype, dims);
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t k = 0; k < dims.size(); ++k)
    NB_TUPLE_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(k), PyLong_FromLongLong(dims[k]));
  const Maker maker = maker_of(like, model, dtype);
  if (!maker.module.is_valid()) return allocate_numpy(dtype, dims);
  if (model.library == Library::torch && !is_on_gpu) {
    nb::object kept = torch_result(shape, maker.options["dtype"], dtype, dims);
    if (kept.is_valid()) return kept;
  }
  return maker.module.attr("empty")(shape, **maker.options);
}

nb::object allocate_full(nb::handle like, const Array& model, aclDataType dtype, const nb::object& value) {
  const Maker maker = maker_of(like, model, dtype);
  return maker.module.attr("full")(nb::make_tuple(1), value, **maker.options);
}

nb::object finished(nb::object array, Library library) {
  if (library != Library::jax) return array;
  return nb::module_::import_("jax.numpy").attr("asarray")(array);
}

}  // namespace openaclnn::python
