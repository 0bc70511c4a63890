// Reads, changes and lists the objects that describe arguments, in any state.
#include "fuzz/descriptions.h"

namespace openaclnn_test {

namespace {

using Choice = Objects::Choice;

float numbers[64];  // an address to describe

}  // namespace

void Descriptions::read() {
  const Choice tensor = objects_.choose(in_, Kind::tensor);
  auto* const handle = static_cast<aclTensor*>(tensor.handle);
  const int wanted = tensor.is(Kind::tensor) ? 0 : tensor.is_null() ? 161001 : 161002;
  int64_t *dims = nullptr, offset = 0;
  uint64_t rank = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  void* address = nullptr;
  switch (in_.below(6)) {
    case 0: require_outcome("aclGetViewShape", aclGetViewShape(handle, &dims, &rank), {wanted}); break;
    case 1: require_outcome("aclGetViewStrides", aclGetViewStrides(handle, &dims, &rank), {wanted}); break;
    case 2: require_outcome("aclGetStorageShape", aclGetStorageShape(handle, &dims, &rank), {wanted}); break;
    case 3: require_outcome("aclGetDataType", aclGetDataType(handle, &dtype), {wanted}); break;
    case 4: require_outcome("aclGetFormat", aclGetFormat(handle, &format), {wanted}); break;
    default:
      require_outcome("aclGetRawTensorAddr", aclGetRawTensorAddr(handle, &address), {wanted});
      require_outcome("aclGetViewOffset", aclGetViewOffset(handle, &offset), {wanted});
  }
  delete[] dims;
}

void Descriptions::change() {
  const Choice tensor = objects_.choose(in_, Kind::tensor);
  auto* const handle = static_cast<aclTensor*>(tensor.handle);
  const int wanted = tensor.is(Kind::tensor) ? 0 : tensor.is_null() ? 161001 : 161002;
  const int64_t dims[] = {2, in_.below(5), 3};
  const auto rank = static_cast<uint64_t>(in_.below(4));
  const uint64_t strange = in_.below(4) == 0 ? in_.bits() | 65 : rank;
  if (in_.chance()) {
    require_outcome("aclSetRawTensorAddr", aclSetRawTensorAddr(handle, numbers), {wanted});
  } else if (strange > 64) {
    const int code =
        aclInitTensor(handle, dims, strange, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, numbers);
    require_outcome("aclInitTensor", code, {wanted == 161001 ? 161001 : 161002});
  } else {
    const int code =
        aclInitTensor(handle, dims, rank + 2 > 3 ? 3 : rank + 2, static_cast<aclDataType>(in_.below(40)),
                      nullptr, static_cast<int64_t>(in_.bits()), ACL_FORMAT_ND, dims, 1, numbers);
    require_outcome("aclInitTensor", code, {wanted});
  }
}

void Descriptions::read_size() {
  const auto kind = static_cast<Kind>(2 + in_.below(5));
  const Choice chosen = objects_.choose(in_, kind);
  uint64_t size = 0;
  void* const h = chosen.handle;
  const int code = kind == Kind::int_array     ? aclGetIntArraySize(static_cast<aclIntArray*>(h), &size)
                   : kind == Kind::float_array ? aclGetFloatArraySize(static_cast<aclFloatArray*>(h), &size)
                   : kind == Kind::bool_array  ? aclGetBoolArraySize(static_cast<aclBoolArray*>(h), &size)
                   : kind == Kind::tensor_list ? aclGetTensorListSize(static_cast<aclTensorList*>(h), &size)
                                               : aclGetScalarListSize(static_cast<aclScalarList*>(h), &size);
  require_outcome("size", code, {chosen.is(kind) ? 0 : chosen.is_null() ? 161001 : 161002});
  if (chosen.is(kind) && kind >= Kind::tensor_list)
    require(size == chosen.object->elements.size(), "a list has another length");
}

void Descriptions::make_list() {
  if (objects_.is_full()) return;
  const Kind kind = in_.chance() ? Kind::tensor : Kind::scalar;
  std::vector<void*> handles;
  std::vector<size_t> elements;
  bool fits = true;
  for (int64_t left = in_.below(4); left > 0; --left) {
    const Choice chosen = objects_.choose(in_, kind);
    handles.push_back(chosen.handle);
    fits = fits && chosen.is(kind);
    if (fits) elements.push_back(static_cast<size_t>(chosen.object - objects_.all.data()));
  }
  void* made = nullptr;
  if (kind == Kind::tensor) {
    made = aclCreateTensorList(reinterpret_cast<const aclTensor* const*>(handles.data()), handles.size());
  } else {
    made = aclCreateScalarList(reinterpret_cast<const aclScalar* const*>(handles.data()), handles.size());
  }
  if ((made != nullptr) != fits) found("a list was made of dead elements, or refused of live ones");
  require_outcome("list", fits ? 0 : 1, {0, 1});
  if (!fits) return;
  const size_t at = objects_.add(kind == Kind::tensor ? Kind::tensor_list : Kind::scalar_list, made);
  objects_.all[at].elements = elements;
}

}  // namespace openaclnn_test
