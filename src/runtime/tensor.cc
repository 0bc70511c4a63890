// Making descriptors and views of them.
#include "runtime/tensor.h"

#include <algorithm>

#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

namespace {

// Strides of a row-major layout without gaps. Wraps instead of overflowing: phase 1 rejects such shapes by their extent.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  uint64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    strides[k] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[k]);
  }
  return strides;
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

Result<std::shared_ptr<const Tensor>> make_tensor(const int64_t* view_dims, uint64_t view_dims_num,
                                                  aclDataType dtype, const int64_t* strides, int64_t offset,
                                                  aclFormat format, const int64_t* storage_dims,
                                                  uint64_t storage_dims_num, void* data) {
  if (Status status = require_dims("viewDims", view_dims, view_dims_num); !status.ok()) return status;
  if (Status status = require_dims("storageDims", storage_dims, storage_dims_num); !status.ok())
    return status;
  auto tensor = std::make_shared<Tensor>();
  if (view_dims_num > 0) tensor->dims.assign(view_dims, view_dims + view_dims_num);
  if (strides != nullptr) {
    tensor->strides.assign(strides, strides + view_dims_num);
  } else {
    tensor->strides = contiguous_strides(tensor->dims);
  }
  if (storage_dims_num > 0) tensor->storage_dims.assign(storage_dims, storage_dims + storage_dims_num);
  tensor->format = format;
  TensorView& view = tensor->view;
  view.data = data;
  view.offset = offset;
  view.dtype = dtype;
  const size_t rank = std::min<size_t>(tensor->dims.size(), kMaxRank);
  view.rank = static_cast<int>(rank);
  std::copy_n(tensor->dims.begin(), rank, view.dims);
  std::copy_n(tensor->strides.begin(), rank, view.strides);
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

bool exchange_tensor(const aclTensor* tensor, const std::shared_ptr<const Tensor>& old,
                     const std::shared_ptr<const Tensor>& updated) {
  bool exchanged = false;
  TensorTable::instance().with(tensor, [&](std::shared_ptr<const Tensor>& object) {
    exchanged = object == old;
    if (exchanged) object = updated;
  });
  return exchanged;
}

}  // namespace openaclnn
