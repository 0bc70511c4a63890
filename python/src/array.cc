// Chooses how to look into an array, and makes arrays for results.
#include "array.h"

#include "array_sources.h"

namespace openaclnn::python {

namespace {

// The outermost package of a type, "jaxlib" for jaxlib._jax.ArrayImpl.
std::string package_of(nb::handle object) {
  const nb::object module = nb::getattr(object.type(), "__module__", nb::str(""));
  if (!nb::isinstance<nb::str>(module)) return {};
  const std::string name = nb::cast<std::string>(module);
  return name.substr(0, name.find('.'));
}

bool is_jax_tracer(nb::handle object) {
  const nb::object core = imported_module("jax.core");
  return core.is_valid() && nb::isinstance(object, core.attr("Tracer"));
}

}  // namespace

int64_t Array::numel() const {
  int64_t product = 1;
  for (const int64_t dim : shape()) product *= dim;
  return product;
}

std::string Name::text() const {
  return index < 0 ? std::string(word) : std::string(word) + "[" + std::to_string(index) + "]";
}

std::string shape_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

void set_layout(Array& array, const Name& name, int64_t rank, const int64_t* dims, const int64_t* strides) {
  if (rank > kMostDims) {
    throw nb::value_error(
        (name.text() + " has rank " + std::to_string(rank) + "; at most 8 dimensions are accepted").c_str());
  }
  array.rank = static_cast<int>(rank);
  int64_t contiguous = 1;
  for (int k = array.rank - 1; k >= 0; --k) {
    array.dims[k] = dims[k];
    array.strides[k] = strides != nullptr ? strides[k] : contiguous;
    contiguous *= dims[k];
  }
}

nb::object imported_module(const char* name) { return nb::borrow(PyImport_GetModule(nb::str(name).ptr())); }

Array describe(nb::handle object, const Name& name) {
  Array array;
  if (describe_numpy(object, name, array) || describe_torch(object, name, array)) return array;
  const std::string package = package_of(object);
  if (is_jax_tracer(object)) {
    throw nb::type_error(
        (name.text() + " is traced by JAX; inside jax.jit and jax.grad use the functions of openaclnn.jax")
            .c_str());
  }
  if (describe_dlpack(object, name, array)) {
    array.library = package == "jax" || package == "jaxlib" ? Library::jax : Library::other;
    if (array.library == Library::jax) array.is_writable = false;
    return array;
  }
  if (describe_buffer(object, name, array)) return array;
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
                                                "use the functions of openaclnn.jax"
                                              : " is read-only; it must be writable"))
                              .c_str());
  }
  return array;
}

nb::object allocate(nb::handle like, const Array& model, aclDataType dtype, std::span<const int64_t> dims) {
  if (model.library == Library::torch) return allocate_torch(like, dtype, dims);
  if (model.library != Library::other) return allocate_numpy(dtype, dims);
  // The array API standard has `empty`; the dtype is the one of `like` where it is the same.
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t k = 0; k < dims.size(); ++k)
    PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(k), PyLong_FromLongLong(dims[k]));
  if (dtype == model.dtype && nb::hasattr(like, "__array_namespace__")) {
    using namespace nb::literals;
    return like.attr("__array_namespace__")().attr("empty")(shape, "dtype"_a = like.attr("dtype"),
                                                            "device"_a = like.attr("device"));
  }
  return allocate_numpy(dtype, dims);
}

nb::object finished(nb::object array, Library library) {
  if (library != Library::jax) return array;
  return nb::module_::import_("jax.numpy").attr("asarray")(array);
}

}  // namespace openaclnn::python
