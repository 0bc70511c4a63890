// Implements acl* for tensors, scalars, arrays and lists.
#include "aclnn/acl_meta.h"

#include <cstring>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/guard.h"
#include "runtime/tensor.h"

using namespace openaclnn;

namespace {

Status missing(const char* name) {
  return {ACLNN_ERR_PARAM_NULLPTR, text(name, " is NULL; a valid address or handle is required")};
}

Status stale(const char* name, const void* handle) {
  return {ACLNN_ERR_PARAM_INVALID,
          text(name, " is not live (", address_text(handle),
               "): it was destroyed, is of another kind, or was never returned by a create function")};
}

Result<void*> registered(void* handle) {
  if (handle != nullptr) return handle;
  return Status(ACLNN_ERR_INNER_CREATE_EXECUTOR,
                "EL0004 Failed to allocate a handle: every number of this kind is in use");
}

// Arrays and lists hold one entry per sequence or parameter. Larger sizes are errors, mostly negative numbers
// converted to uint64_t, and must not make the library read that many elements.
constexpr uint64_t kMostEntries = INT32_MAX;

Status require_possible_size(uint64_t size) {
  if (size <= kMostEntries) return {};
  return {ACLNN_ERR_PARAM_INVALID, text("size is ", size, "; it must be at most ", kMostEntries)};
}

// A copy of `size` values; (NULL, 0) is an empty array.
template <class Table, class Element, class Value>
Result<void*> create_array(const Value* value, uint64_t size) {
  if (value == nullptr && size > 0) return missing("value");
  OPENACLNN_TRY(require_possible_size(size));
  auto array =
      size > 0 ? std::make_shared<Array<Element>>(value, value + size) : std::make_shared<Array<Element>>();
  return registered(Table::instance().insert(std::move(array)));
}

template <class ListTable, class ElementTable, class Element>
Result<void*> create_list(const Element* const* value, uint64_t size) {
  if (value == nullptr && size > 0) return missing("value");
  OPENACLNN_TRY(require_possible_size(size));
  auto list = std::make_shared<HandleList>();
  for (uint64_t k = 0; k < size; ++k) {
    const auto named = [k] { return text("value[", k, "]"); };
    if (value[k] == nullptr) return missing(named().c_str());
    if (!ElementTable::instance().with(value[k], [](const auto&) {})) return stale(named().c_str(), value[k]);
    list->elements.push_back(value[k]);
  }
  return registered(ListTable::instance().insert(std::move(list)));
}

// Destroying NULL is allowed and does nothing.
template <class Table>
aclnnStatus destroy(const char* function, const char* name, const void* handle) {
  return guard(function, kMetaWall, [&]() -> Status {
    if (handle == nullptr || Table::instance().remove(handle) != nullptr) return {};
    return stale(name, handle);
  });
}

template <class ListTable, class ElementTable>
aclnnStatus destroy_list(const char* function, const char* name, const void* handle) {
  return guard(function, kMetaWall, [&]() -> Status {
    if (handle == nullptr) return {};
    const auto list = ListTable::instance().remove(handle);
    if (list == nullptr) return stale(name, handle);
    for (const void* element : list->elements) (void)ElementTable::instance().remove(element);
    return {};
  });
}

// Finds the object and calls read(object).
template <class Table, class Read>
aclnnStatus with_object(const char* function, const char* name, const void* handle, const void* out,
                        const char* out_name, Read&& read) {
  return guard(function, kMetaWall, [&]() -> Status {
    if (handle == nullptr) return missing(name);
    if (out == nullptr) return missing(out_name);
    const auto object = Table::instance().find(handle);
    if (object == nullptr) return stale(name, handle);
    read(*object);
    return {};
  });
}

// Returns a new array for a shape getter. The caller frees it with delete[].
aclnnStatus deliver_dims(const char* function, const aclTensor* tensor, const char* name, int64_t** dims,
                         const char* count_name, uint64_t* count,
                         std::span<const int64_t> (Tensor::*part)() const) {
  return guard(function, kMetaWall, [&]() -> Status {
    if (tensor == nullptr) return missing("tensor");
    if (dims == nullptr) return missing(name);
    if (count == nullptr) return missing(count_name);
    const auto object = TensorTable::instance().find(tensor);
    if (object == nullptr) return stale("tensor", tensor);
    const std::span<const int64_t> values = ((*object).*part)();
    auto* copy = new int64_t[values.size()];
    std::copy(values.begin(), values.end(), copy);
    *dims = copy;
    *count = values.size();
    return {};
  });
}

// Replaces the descriptor of a live tensor by make(old).
template <class Make>
Status replace_tensor(aclTensor* tensor, Make&& make) {
  if (tensor == nullptr) return missing("tensor");
  while (true) {
    const std::shared_ptr<const Tensor> old = TensorTable::instance().find(tensor);
    if (old == nullptr) return stale("tensor", tensor);
    OPENACLNN_TRY_ASSIGN(made, make(*old));
    if (exchange_tensor(tensor, old, made)) return {};
  }
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  return create_guard<aclTensor>(__func__, [&]() -> Result<void*> {
    OPENACLNN_TRY_ASSIGN(tensor, make_tensor(viewDims, viewDimsNum, dataType, stride, offset, format,
                                             storageDims, storageDimsNum, tensorData));
    return registered(TensorTable::instance().insert(tensor));
  });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  return create_guard<aclScalar>(__func__, [&]() -> Result<void*> {
    if (value == nullptr) return missing("value");
    const size_t bytes = dtype_size(dataType);
    if (bytes == 0) {
      return Status(ACLNN_ERR_PARAM_INVALID,
                    text("dataType is ", dtype_name(dataType), "; it must be a type of whole bytes"));
    }
    auto scalar = std::make_shared<Scalar>(Scalar{dataType, {}});
    std::memcpy(scalar->value.data(), value, bytes);
    return registered(ScalarTable::instance().insert(std::move(scalar)));
  });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return create_guard<aclIntArray>(__func__,
                                   [&] { return create_array<IntArrayTable, int64_t>(value, size); });
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return create_guard<aclFloatArray>(__func__,
                                     [&] { return create_array<FloatArrayTable, float>(value, size); });
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return create_guard<aclBoolArray>(__func__, [&] {
    // Read as bytes: a bool object with a value other than 0 and 1 must not be read as bool. Nothing uses the
    // values yet.
    return create_array<BoolArrayTable, uint8_t>(reinterpret_cast<const unsigned char*>(value), size);
  });
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return create_guard<aclTensorList>(__func__,
                                     [&] { return create_list<TensorListTable, TensorTable>(value, size); });
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return create_guard<aclScalarList>(__func__,
                                     [&] { return create_list<ScalarListTable, ScalarTable>(value, size); });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return destroy<TensorTable>(__func__, "tensor", tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return destroy<ScalarTable>(__func__, "scalar", scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy<IntArrayTable>(__func__, "array", array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy<FloatArrayTable>(__func__, "array", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy<BoolArrayTable>(__func__, "array", array);
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return destroy_list<TensorListTable, TensorTable>(__func__, "array", array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return destroy_list<ScalarListTable, ScalarTable>(__func__, "array", array);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return deliver_dims(__func__, tensor, "viewDims", viewDims, "viewDimsNum", viewDimsNum, &Tensor::dims);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return deliver_dims(__func__, tensor, "storageDims", storageDims, "storageDimsNum", storageDimsNum,
                      &Tensor::storage_dims);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return deliver_dims(__func__, tensor, "stridesValue", stridesValue, "stridesNum", stridesNum,
                      &Tensor::strides);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return with_object<TensorTable>(__func__, "tensor", tensor, offset, "offset",
                                  [&](const Tensor& object) { *offset = object.view.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return with_object<TensorTable>(__func__, "tensor", tensor, format, "format",
                                  [&](const Tensor& object) { *format = object.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return with_object<TensorTable>(__func__, "tensor", tensor, dataType, "dataType",
                                  [&](const Tensor& object) { *dataType = object.view.dtype; });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return with_object<IntArrayTable>(__func__, "array", array, size, "size",
                                    [&](const Array<int64_t>& object) { *size = object.size(); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return with_object<FloatArrayTable>(__func__, "array", array, size, "size",
                                      [&](const Array<float>& object) { *size = object.size(); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return with_object<BoolArrayTable>(__func__, "array", array, size, "size",
                                     [&](const Array<uint8_t>& object) { *size = object.size(); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return with_object<TensorListTable>(__func__, "tensorList", tensorList, size, "size",
                                      [&](const HandleList& object) { *size = object.elements.size(); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return with_object<ScalarListTable>(__func__, "scalarList", scalarList, size, "size",
                                      [&](const HandleList& object) { *size = object.elements.size(); });
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset, aclFormat format,
                          const int64_t* storageDims, uint64_t storageDimsNum, void* tensorDataAddr) {
  return guard(__func__, kMetaWall, [&] {
    return replace_tensor(tensor, [&](const Tensor&) {
      return make_tensor(viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum,
                         tensorDataAddr);
    });
  });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return guard(__func__, kMetaWall, [&] {
    return replace_tensor(tensor, [&](const Tensor& old) -> Result<std::shared_ptr<const Tensor>> {
      return with_address(old, addr);
    });
  });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return with_object<TensorTable>(__func__, "tensor", tensor, addr, "addr",
                                  [&](const Tensor& object) { *addr = object.view.data; });
}
