// Reads PyTorch's tensors: through the table of C functions of DLPack 1.3 if PyTorch has it, otherwise
// through their methods.
#include <nanobind/ndarray.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "array_sources.h"

namespace openaclnn::python {

namespace {

// The table that a type provides as the capsule __dlpack_c_exchange_api__. Only the function that fills a
// borrowed DLTensor is used; the others are declared for the layout.
struct ExchangeTable {
  uint32_t major, minor;
  ExchangeTable* previous;
  void* allocate;
  void* export_managed;
  void* import_managed;
  int (*borrow)(void* object, nb::dlpack::dltensor* out);
  void* current_stream;
};

enum class Kind { foreign, tensor, wrapper };

struct TypeFacts {
  Kind kind = Kind::foreign;
  const ExchangeTable* table = nullptr;
};

const ExchangeTable* exchange_table(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  auto* table = static_cast<ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->major != 1) table = table->previous;
  return table != nullptr && table->borrow != nullptr ? table : nullptr;
}

// A subclass with its own __torch_dispatch__ (DTensor, FakeTensor, …) has no elements at its address.
TypeFacts examine(nb::handle type) {
  TypeFacts facts;
  const nb::object torch = imported_module("torch");
  if (!torch.is_valid() || !nb::hasattr(torch, "Tensor")) return facts;
  const nb::object tensor = torch.attr("Tensor");
  const int is_tensor = PyObject_IsSubclass(type.ptr(), tensor.ptr());
  if (is_tensor < 0) throw nb::python_error();
  if (is_tensor == 0) return facts;
  const nb::object own = nb::getattr(type, "__torch_dispatch__", nb::none());
  facts.kind =
      own.equal(nb::getattr(tensor, "__torch_dispatch__", nb::none())) ? Kind::tensor : Kind::wrapper;
  facts.table = exchange_table(type);
  return facts;
}

struct KnownType {
  PyTypeObject* type;
  TypeFacts facts;
};

// A type is examined once. It and its table are kept alive, so that its address is not reused. NULL: not a
// type of PyTorch, or unknown because PyTorch may be imported later.
const KnownType* look_up(PyTypeObject* type) {
  static auto& known = *new std::unordered_map<PyTypeObject*, KnownType>;
  static auto& mutex = *new std::mutex;  // for Pythons without a global lock
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(type); found != known.end()) return &found->second;
  }
  const nb::handle handle(reinterpret_cast<PyObject*>(type));
  const TypeFacts facts = examine(handle);
  if (facts.kind == Kind::foreign) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.emplace(type, KnownType{type, facts});
  if (is_new) handle.inc_ref();
  return &place->second;
}

// Most tensors of a program have one type: repeated queries of one type need no lock.
const KnownType* known_type(PyTypeObject* type) {
  static std::atomic<const KnownType*> last = nullptr;
  const KnownType* known = last.load(std::memory_order_acquire);
  if (known != nullptr && known->type == type) return known;
  known = look_up(type);
  if (known != nullptr) last.store(known, std::memory_order_release);
  return known;
}

aclDataType dtype_of_word(std::string_view word) {
  for (int code = ACL_FLOAT; code <= ACL_BF16; ++code) {
    const char* const name = array_dtype_name(static_cast<aclDataType>(code));
    if (name != nullptr && word == name) return static_cast<aclDataType>(code);
  }
  return ACL_DT_UNDEFINED;
}

[[noreturn]] void refuse(const Name& name, const std::string& what) {
  throw nb::type_error((name.text() + what).c_str());
}

bool is_true(const nb::object& object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

std::string text_of(const nb::object& object) { return nb::str(object).c_str(); }

// Rejects tensors without elements in memory.
void require_memory(nb::handle object, const Name& name) {
  if (is_true(object.attr("is_sparse")) || is_true(object.attr("is_quantized")))
    refuse(name, " is sparse or quantized; a dense tensor is needed");
  const std::string device = text_of(object.attr("device").attr("type"));
  if (device != "cpu" && device != "cuda")
    throw nb::value_error((name.text() + " is on " + device + "; a tensor in memory is needed").c_str());
}

void describe_by_table(const ExchangeTable& table, nb::handle object, const Name& name, Array& array) {
  nb::dlpack::dltensor tensor;
  if (table.borrow(object.ptr(), &tensor) != 0) {
    const nb::python_error error;
    require_memory(object, name);
    const std::string text = nb::cast<std::string>(nb::str(error.value()));
    refuse(name, " cannot be inspected: " + text.substr(0, text.find('\n')));  // a C++ stack trace follows
  }
  array.dtype = dtype_of_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  array.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  array.memory = tensor.device.device_type;
  array.device = tensor.device.device_id;
  set_layout(array, name, tensor.ndim, tensor.shape, tensor.strides);
}

int64_t integer(nb::handle object) {
  const long long value = PyLong_AsLongLong(object.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

void describe_by_methods(nb::handle object, const Name& name, Array& array) {
  require_memory(object, name);
  const std::string device = text_of(object.attr("device").attr("type"));
  array.memory = static_cast<int32_t>(device == "cpu" ? Memory::cpu : Memory::cuda);
  const nb::object index = object.attr("device").attr("index");
  array.device = index.is_none() ? 0 : static_cast<int32_t>(integer(index));
  const std::string dtype = text_of(object.attr("dtype"));  // "torch.float32"
  array.dtype = dtype_of_word(std::string_view(dtype).substr(dtype.find('.') + 1));
  const nb::object address = object.attr("data_ptr")();
  array.data = PyLong_AsVoidPtr(address.ptr());
  if (array.data == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::object shape = object.attr("shape"), strides = object.attr("stride")();
  const size_t rank = nb::len(shape);
  std::array<int64_t, kMostDims> dims, steps;
  for (size_t k = 0; k < rank && k < dims.size(); ++k) {
    dims[k] = integer(shape[k]);
    steps[k] = integer(strides[k]);
  }
  set_layout(array, name, static_cast<int64_t>(rank), dims.data(), steps.data());
}

bool has_flag(nb::handle object, PyObject* method) {
  const nb::object flag = nb::steal(PyObject_CallMethodObjArgs(object.ptr(), method, nullptr));
  if (!flag.is_valid()) throw nb::python_error();
  return is_true(flag);
}

// Returns whether elements can be the real or imaginary parts of complex numbers, which are two elements
// apart.
bool can_be_parts(const Array& array) {
  if (array.dtype != ACL_FLOAT && array.dtype != ACL_DOUBLE && array.dtype != ACL_FLOAT16) return false;
  for (int k = 0; k < array.rank; ++k) {
    if (array.dims[k] > 1 && array.strides[k] % 2 != 0) return false;
  }
  return true;
}

// A lazy conjugate is a flag on a complex tensor, and a lazy negative a flag on its imaginary parts. Only
// PyTorch's own operators apply them. Querying them costs as much as reading the tensor, so only tensors
// that can have a flag are queried. A negative gets odd strides from as_strided only, and isn't detected then:
// one query more took 6 to 10 % of an embedding of 3 positions.
void require_plain(nb::handle object, const Name& name, const Array& array) {
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  const bool is_complex = array.dtype == ACL_COMPLEX64 || array.dtype == ACL_COMPLEX128;
  if (is_complex && has_flag(object, is_conj))
    refuse(name, " is a conjugate that PyTorch has not computed yet; pass its .resolve_conj()");
  if (can_be_parts(array) && has_flag(object, is_neg))
    refuse(name, " is a negative that PyTorch has not computed yet; pass its .resolve_neg()");
}

}  // namespace

bool describe_torch(nb::handle object, const Name& name, Array& array) {
  const KnownType* const known = known_type(Py_TYPE(object.ptr()));
  if (known == nullptr) return false;
  const TypeFacts& facts = known->facts;
  if (facts.kind == Kind::wrapper) {
    refuse(name, " is of type " + nb::cast<std::string>(nb::str(object.type())) +
                     ", which holds other tensors; pass these (for a DTensor its .to_local())");
  }
  array.library = Library::torch;
  if (facts.table != nullptr) {
    describe_by_table(*facts.table, object, name, array);
  } else {
    describe_by_methods(object, name, array);
  }
  if (array.dtype == ACL_DT_UNDEFINED) {
    refuse(name, " has dtype " + text_of(object.attr("dtype")) +
                     "; accepted are float32, float16, bfloat16, float64, bool, complex and integer types");
  }
  require_plain(object, name, array);
  return true;
}

}  // namespace openaclnn::python
