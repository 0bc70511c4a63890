// Creates tensor descriptors and views of them.
#include "runtime/tensor.h"

#include <algorithm>

#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

namespace {

// Computes the strides of a row-major layout without gaps. Wraps on overflow: phase 1 rejects such shapes by
// their extent.
void set_contiguous_strides(std::span<const int64_t> dims, int64_t* strides) {
  uint64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    strides[k] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[k]);
  }
}

Status require_dims(const char* name, const int64_t* dims, uint64_t count) {
  if (dims == nullptr && count > 0) {
    return {ACLNN_ERR_PARAM_NULLPTR,
            text(name, " is NULL but ", name, "Num is ", count, "; pass that many dims")};
  }
  if (count > kMaxDescriptorRank) {
    return {ACLNN_ERR_PARAM_INVALID,
            text(name, "Num is ", count, "; at most ", kMaxDescriptorRank, " are accepted")};
  }
  return {};
}

}  // namespace

void PublishedTensor::publish(uint64_t generation, const TensorDescription& description) {
  const uint64_t before = stamp_.load(std::memory_order_relaxed);
  stamp_.store(before & ~kReadable, std::memory_order_relaxed);
  // A reader that sees one of these words also sees that the description was not readable.
  const auto put = [&](size_t word, uint64_t value) { words_[word].store(value, std::memory_order_release); };
  std::array<uint64_t, kHeaderWords> header;
  std::memcpy(header.data(), &description, sizeof header);
  for (size_t k = 0; k < kHeaderWords; ++k) put(k, header[k]);
  const auto rank = static_cast<size_t>(description.view.rank);
  for (size_t k = 0; k < rank; ++k) {
    put(kHeaderWords + k, static_cast<uint64_t>(description.view.dims[k]));
    put(kHeaderWords + rank + k, static_cast<uint64_t>(description.view.strides[k]));
  }
  stamp_.store(((before & ~(kReadable | kGeneration)) + kChange) | kReadable | generation,
               std::memory_order_release);
}

Result<std::shared_ptr<const Tensor>> make_tensor(const int64_t* view_dims, uint64_t view_dims_num,
                                                  aclDataType dtype, const int64_t* strides, int64_t offset,
                                                  aclFormat format, const int64_t* storage_dims,
                                                  uint64_t storage_dims_num, void* data) {
  OPENACLNN_TRY(require_dims("viewDims", view_dims, view_dims_num));
  OPENACLNN_TRY(require_dims("storageDims", storage_dims, storage_dims_num));
  auto tensor = make_recycled<Tensor>();
  tensor->format = format;
  tensor->rank = static_cast<uint32_t>(view_dims_num);
  tensor->numbers.resize(2 * view_dims_num + storage_dims_num);
  int64_t* const numbers = tensor->numbers.data();
  std::copy_n(view_dims, view_dims_num, numbers);
  if (strides != nullptr) {
    std::copy_n(strides, view_dims_num, numbers + view_dims_num);
  } else {
    set_contiguous_strides(tensor->dims(), numbers + view_dims_num);
  }
  std::copy_n(storage_dims, storage_dims_num, numbers + 2 * view_dims_num);
  TensorView& view = tensor->view;
  view.data = data;
  view.offset = offset;
  view.dtype = dtype;
  view.rank = static_cast<int>(std::min<size_t>(view_dims_num, kMaxRank));
  std::copy_n(tensor->dims().begin(), view.rank, view.dims);
  std::copy_n(tensor->strides().begin(), view.rank, view.strides);
  tensor->facts = facts_of(view);
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

std::shared_ptr<const Tensor> with_address(const Tensor& tensor, void* address) {
  auto updated = make_recycled<Tensor>(tensor);
  updated->view.data = address;
  return updated;
}

bool exchange_tensor(const aclTensor* tensor, const std::shared_ptr<const Tensor>& old,
                     const std::shared_ptr<const Tensor>& updated) {
  return TensorTable::instance().exchange(tensor, old, updated);
}

}  // namespace openaclnn
