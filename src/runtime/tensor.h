// The objects behind aclTensor, aclScalar, arrays and lists: plain copies of the caller's descriptions.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "base/tensor_view.h"
#include "runtime/handle.h"
#include "runtime/recycle.h"

namespace openaclnn {

// The part of a tensor that operators see.
struct TensorDescription {
  ViewFacts facts;  // of `view`
  aclFormat format = ACL_FORMAT_UNDEFINED;
  uint32_t rank = 0;  // at most kMaxDescriptorRank
  // Dims beyond kMaxRank are cut off: operators reject such tensors by their rank.
  TensorView view;
};

// A description that threads copy while another thread may replace it: a sequence lock. Calls with lists read
// thousands of descriptions, and each lock took as long as the copy.
//
// A reader copies the words between two reads of `stamp_`. If the stamps differ, or if the description is not
// readable, it must ask again under the lock of the table, which also guards all writes.
class alignas(64) PublishedTensor {
 public:
  void publish(uint64_t generation, const TensorDescription& description);
  void withdraw() {
    stamp_.store(stamp_.load(std::memory_order_relaxed) & ~kReadable, std::memory_order_release);
  }

  // Returns false, with any values in `copy`, if the description of this generation cannot be read now. Leaves
  // dims and strides beyond the rank as they are.
  bool copy_to(uint64_t generation, TensorDescription& copy) const {
    const uint64_t before = stamp_.load(std::memory_order_acquire);
    if ((before & (kReadable | kGeneration)) != (kReadable | generation)) return false;
    auto* const header = reinterpret_cast<std::byte*>(&copy);
#pragma GCC unroll 8
    for (size_t k = 0; k < kHeaderWords; ++k) {
      const uint64_t word = words_[k].load(std::memory_order_acquire);
      std::memcpy(header + k * sizeof word, &word, sizeof word);
    }
    const auto rank = static_cast<size_t>(copy.view.rank);
    for (size_t k = 0; k < rank; ++k) {
      copy.view.dims[k] = static_cast<int64_t>(words_[kHeaderWords + k].load(std::memory_order_acquire));
      copy.view.strides[k] =
          static_cast<int64_t>(words_[kHeaderWords + rank + k].load(std::memory_order_acquire));
    }
    return stamp_.load(std::memory_order_relaxed) == before;
  }

 private:
  // A stamp consists of the generation of the handle, a flag, and the number of changes so far.
  static constexpr uint64_t kGeneration = (uint64_t{1} << 28) - 1;
  static constexpr uint64_t kReadable = uint64_t{1} << 28;
  static constexpr uint64_t kChange = uint64_t{1} << 29;

  // The words before the dims. Then follow the dims and the strides, without gaps: up to rank 3 everything is
  // in two cache lines.
  static constexpr size_t kHeaderWords =
      (offsetof(TensorDescription, view) + offsetof(TensorView, dims)) / sizeof(uint64_t);

  static_assert(std::is_trivially_copyable_v<TensorDescription> &&
                std::is_standard_layout_v<TensorDescription>);
  static_assert(offsetof(TensorView, dims) % sizeof(uint64_t) == 0 &&
                    offsetof(TensorView, strides) == offsetof(TensorView, dims) + sizeof(TensorView::dims) &&
                    sizeof(TensorView) == offsetof(TensorView, strides) + sizeof(TensorView::strides) &&
                    sizeof(TensorDescription) == offsetof(TensorDescription, view) + sizeof(TensorView),
                "words_ has whole words of the header, then the dims, then the strides, and nothing else");

  std::atomic<uint64_t> stamp_{0};
  std::array<std::atomic<uint64_t>, kHeaderWords + 2 * kMaxRank> words_ = {};
};

// A descriptor as the caller passed it; phase 1 validates it. Immutable: an update replaces the whole
// descriptor, so that earlier lookups keep a consistent one.
struct Tensor : TensorDescription {
  // All dims, the same number of strides, and the storage dims in one block: calls with lists create
  // thousands of descriptors.
  RecycledVector<int64_t> numbers;

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

template <>
struct Published<const Tensor> : PublishedTensor {};

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

// Copies a descriptor, with other data.
std::shared_ptr<const Tensor> with_address(const Tensor& tensor, void* address);

// Replaces the descriptor of a live tensor if it is still `old`. Returns false if it has changed or no longer
// exists: look it up again then, so that no concurrent update is lost.
bool exchange_tensor(const aclTensor* tensor, const std::shared_ptr<const Tensor>& old,
                     const std::shared_ptr<const Tensor>& updated);

}  // namespace openaclnn
