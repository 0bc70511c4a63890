// Reads NumPy arrays through NumPy's C interface, without a Python call, so that small operators stay fast.
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <string>

#include "array_sources.h"

namespace openaclnn::python {

namespace {

// bfloat16 of ml_dtypes (or of a copy, as in TensorFlow) is a type that is registered with NumPy at run
// time.
bool is_bfloat16(PyArray_Descr* descr) {
  const nb::handle type = reinterpret_cast<PyObject*>(descr->typeobj);
  return nb::cast<std::string>(type.attr("__name__")) == "bfloat16";
}

constexpr aclDataType signed_of(size_t bytes) { return bytes == 8 ? ACL_INT64 : ACL_INT32; }
constexpr aclDataType unsigned_of(size_t bytes) { return bytes == 8 ? ACL_UINT64 : ACL_UINT32; }

aclDataType dtype_of(PyArray_Descr* descr) {
  switch (descr->type_num) {
    case NPY_FLOAT: return ACL_FLOAT;
    case NPY_HALF: return ACL_FLOAT16;
    case NPY_DOUBLE: return ACL_DOUBLE;
    case NPY_BOOL: return ACL_BOOL;
    case NPY_CFLOAT: return ACL_COMPLEX64;
    case NPY_CDOUBLE: return ACL_COMPLEX128;
    case NPY_BYTE: return ACL_INT8;
    case NPY_SHORT: return ACL_INT16;
    case NPY_INT: return signed_of(sizeof(int));
    case NPY_LONG: return signed_of(sizeof(long));
    case NPY_LONGLONG: return signed_of(sizeof(long long));
    case NPY_UBYTE: return ACL_UINT8;
    case NPY_USHORT: return ACL_UINT16;
    case NPY_UINT: return unsigned_of(sizeof(unsigned));
    case NPY_ULONG: return unsigned_of(sizeof(unsigned long));
    case NPY_ULONGLONG: return unsigned_of(sizeof(unsigned long long));
    default: return is_bfloat16(descr) ? ACL_BF16 : ACL_DT_UNDEFINED;
  }
}

int type_number_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return NPY_FLOAT;
    case ACL_FLOAT16: return NPY_HALF;
    case ACL_DOUBLE: return NPY_DOUBLE;
    case ACL_BOOL: return NPY_BOOL;
    case ACL_COMPLEX64: return NPY_CFLOAT;
    case ACL_COMPLEX128: return NPY_CDOUBLE;
    case ACL_INT8: return NPY_INT8;
    case ACL_INT16: return NPY_INT16;
    case ACL_INT32: return NPY_INT32;
    case ACL_INT64: return NPY_INT64;
    case ACL_UINT8: return NPY_UINT8;
    case ACL_UINT16: return NPY_UINT16;
    case ACL_UINT32: return NPY_UINT32;
    case ACL_UINT64: return NPY_UINT64;
    default: return NPY_NOTYPE;
  }
}

[[noreturn]] void refuse_dtype(PyArray_Descr* descr, const Name& name) {
  const std::string dtype = nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(descr))));
  throw nb::type_error(
      (name.text() + " has dtype " + dtype +
       "; accepted are float32, float16, ml_dtypes.bfloat16, float64, bool, complex and integer "
       "types in native byte order")
          .c_str());
}

void fill(PyArrayObject* numpy, const Name& name, Array& array) {
  PyArray_Descr* const descr = PyArray_DESCR(numpy);
  array.dtype = dtype_of(descr);
  if (array.dtype == ACL_DT_UNDEFINED || !PyArray_ISNBO(descr->byteorder)) refuse_dtype(descr, name);
  array.library = Library::numpy;
  array.data = PyArray_DATA(numpy);
  array.is_writable = PyArray_ISWRITEABLE(numpy) != 0;
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  set_layout(array, name, PyArray_NDIM(numpy), reinterpret_cast<const int64_t*>(PyArray_DIMS(numpy)),
             reinterpret_cast<const int64_t*>(PyArray_STRIDES(numpy)));
  const int64_t bytes = static_cast<int64_t>(aclDataTypeSize(array.dtype));
  for (int k = 0; k < array.rank; ++k) {
    if (array.strides[k] % bytes != 0 && array.dims[k] > 1) {
      throw nb::value_error((name.text() + " has a stride of " + std::to_string(array.strides[k]) +
                             " bytes; strides must be multiples of the element's " + std::to_string(bytes) +
                             " bytes")
                                .c_str());
    }
    array.strides[k] /= bytes;
  }
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

bool is_exactly_numpy(nb::handle object) { return PyArray_CheckExact(object.ptr()); }

bool is_numpy_bool(nb::handle object) { return PyArray_IsScalar(object.ptr(), Bool); }
bool is_numpy_integer(nb::handle object) { return PyArray_IsScalar(object.ptr(), Integer); }

bool describe_numpy(nb::handle object, const Name& name, Array& array) {
  if (!PyArray_Check(object.ptr())) return false;
  fill(reinterpret_cast<PyArrayObject*>(object.ptr()), name, array);
  return true;
}

bool describe_buffer(nb::handle object, const Name& name, Array& array) {
  if (!PyObject_CheckBuffer(object.ptr()) && !nb::hasattr(object, "__array_interface__")) return false;
  array.keeper = nb::steal(PyArray_FromAny(object.ptr(), nullptr, 0, 0, 0, nullptr));
  if (!array.keeper.is_valid()) throw nb::python_error();
  fill(reinterpret_cast<PyArrayObject*>(array.keeper.ptr()), name, array);
  if (PyArray_CheckScalar(object.ptr())) array.is_writable = false;  // NumPy returns a copy
  return true;
}

nb::object allocate_numpy(aclDataType dtype, std::span<const int64_t> dims) {
  PyArray_Descr* descr = nullptr;
  if (dtype == ACL_BF16) {
    const nb::object bfloat16 = nb::module_::import_("ml_dtypes").attr("bfloat16");
    if (!PyArray_DescrConverter(bfloat16.ptr(), &descr)) throw nb::python_error();
  } else {
    descr = PyArray_DescrFromType(type_number_of(dtype));
  }
  if (descr == nullptr) throw nb::python_error();
  auto* const lengths = const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(dims.data()));
  // This takes over the reference to `descr`.
  nb::object made = nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(dims.size()),
                                                   lengths, nullptr, nullptr, 0, nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

}  // namespace openaclnn::python
