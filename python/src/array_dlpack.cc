// Reads arrays of any library that has __dlpack__, and DLPack's names of types.
#include <nanobind/ndarray.h>

#include "array_sources.h"

namespace openaclnn::python {

aclDataType dtype_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
  // Codes of DLPack: 0 signed, 1 unsigned, 2 IEEE float, 4 bfloat16, 5 complex, 6 bool.
  struct Row {
    uint8_t code, bits;
    aclDataType dtype;
  };
  static constexpr Row kRows[] = {
      // The most frequent ones come first, because this list is searched for every tensor.
      {2, 32, ACL_FLOAT},       {4, 16, ACL_BF16},   {0, 64, ACL_INT64},     {2, 16, ACL_FLOAT16},
      {0, 32, ACL_INT32},       {2, 64, ACL_DOUBLE}, {0, 8, ACL_INT8},       {0, 16, ACL_INT16},
      {1, 8, ACL_UINT8},        {1, 16, ACL_UINT16}, {1, 32, ACL_UINT32},    {1, 64, ACL_UINT64},
      {5, 128, ACL_COMPLEX128}, {6, 8, ACL_BOOL},    {5, 64, ACL_COMPLEX64},
  };
  for (const Row& row : kRows) {
    if (row.code == code && row.bits == bits && lanes == 1) return row.dtype;
  }
  return ACL_DT_UNDEFINED;
}

bool describe_dlpack(nb::handle object, const Name& name, Array& array) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  using Writable = nb::ndarray<>;
  using ReadOnly = nb::ndarray<nb::ro>;
  ReadOnly view;
  Writable writable;
  array.is_writable = nb::try_cast(object, writable, false);
  if (!array.is_writable && !nb::try_cast(object, view, false)) return false;
  const auto fill = [&](const auto& source) {
    array.dtype = dtype_of_dlpack(source.dtype().code, source.dtype().bits, source.dtype().lanes);
    if (array.dtype == ACL_DT_UNDEFINED) {
      throw nb::type_error((name.text() +
                            " has a dtype that no operator takes; accepted are float32, float16, "
                            "bfloat16, float64, bool, complex and integer types")
                               .c_str());
    }
    array.data = const_cast<char*>(static_cast<const char*>(source.data_handle())) + source.byte_offset();
    array.memory = source.device_type();
    array.device = source.device_id();
    set_layout(array, name, static_cast<int64_t>(source.ndim()), source.shape_ptr(), source.stride_ptr());
    array.keeper = nb::capsule(new std::decay_t<decltype(source)>(source), [](void* kept) noexcept {
      delete static_cast<std::decay_t<decltype(source)>*>(kept);
    });
  };
  if (array.is_writable) {
    fill(writable);
  } else {
    fill(view);
  }
  return true;
}

}  // namespace openaclnn::python
