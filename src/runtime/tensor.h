// The objects behind aclTensor, aclScalar, arrays and lists: plain copies of the caller's descriptions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "base/tensor_view.h"
#include "runtime/handle.h"
#include "runtime/recycle.h"

namespace openaclnn {

// A descriptor as the caller passed it; phase 1 validates it. Immutable: an update replaces the whole
// descriptor, so that earlier lookups keep a consistent one.
struct Tensor {
  // The elements as operators see them. Dims beyond kMaxRank are cut off: operators reject such tensors by
  // their rank.
  TensorView view;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  // All dims, the same number of strides, and the storage dims in one block: calls with lists create
  // thousands of descriptors.
  RecycledVector<int64_t> numbers;
  size_t rank = 0;

  std::span<const int64_t> dims() const { return {numbers.data(), rank}; }
  // The strides as passed, or contiguous ones.
  std::span<const int64_t> strides() const { return {numbers.data() + rank, rank}; }
  std::span<const int64_t> storage_dims() const { return std::span(numbers).subspan(2 * rank); }
};

struct Scalar {
  aclDataType dtype;
  std::array<std::byte, 16> value;
};

template <class T>
using Array = std::vector<T>;

// A list owns its elements: destroying it destroys those that are still live.
struct HandleList {
  std::vector<const void*> elements;
};

using TensorTable = HandleTable<const Tensor, HandleKind::tensor>;
using ScalarTable = HandleTable<const Scalar, HandleKind::scalar>;
using IntArrayTable = HandleTable<const Array<int64_t>, HandleKind::int_array>;
using FloatArrayTable = HandleTable<const Array<float>, HandleKind::float_array>;
using BoolArrayTable = HandleTable<const Array<uint8_t>, HandleKind::bool_array>;
using TensorListTable = HandleTable<const HandleList, HandleKind::tensor_list>;
using ScalarListTable = HandleTable<const HandleList, HandleKind::scalar_list>;

// aclCreateTensor rejects ranks above this. Operators accept up to kMaxRank.
inline constexpr uint64_t kMaxDescriptorRank = 64;

// Copies the caller's description. Fails on NULL dims with a count above 0 and on counts above
// kMaxDescriptorRank.
Result<std::shared_ptr<const Tensor>> make_tensor(const int64_t* view_dims, uint64_t view_dims_num,
                                                  aclDataType dtype, const int64_t* strides, int64_t offset,
                                                  aclFormat format, const int64_t* storage_dims,
                                                  uint64_t storage_dims_num, void* data);

// Replaces the descriptor of a live tensor if it is still `old`. Returns false if it has changed or no longer
// exists: look it up again then, so that no concurrent update is lost.
bool exchange_tensor(const aclTensor* tensor, const std::shared_ptr<const Tensor>& old,
                     const std::shared_ptr<const Tensor>& updated);

}  // namespace openaclnn
