// A list of tensors for a call. A list owns its tensors, so it holds copies of their descriptors.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "aclnn/acl_meta.h"

namespace openaclnn_verify {

// Returns the same description under a new handle.
inline aclTensor* copy_descriptor(const aclTensor* tensor) {
  int64_t *dims = nullptr, *strides = nullptr, offset = 0;
  uint64_t rank = 0, strides_count = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  void* data = nullptr;
  aclGetViewShape(tensor, &dims, &rank);
  aclGetViewStrides(tensor, &strides, &strides_count);
  aclGetViewOffset(tensor, &offset);
  aclGetDataType(tensor, &dtype);
  aclGetFormat(tensor, &format);
  aclGetRawTensorAddr(tensor, &data);
  const std::unique_ptr<int64_t[]> own_dims(dims), own_strides(strides);
  return aclCreateTensor(dims, rank, dtype, strides, offset, format, dims, rank, data);
}

class TensorList {
 public:
  explicit TensorList(std::span<aclTensor* const> tensors) {
    for (const aclTensor* tensor : tensors) elements_.push_back(copy_descriptor(tensor));
    list_.reset(aclCreateTensorList(elements_.data(), elements_.size()));
  }

  aclTensorList* get() const { return list_.get(); }
  aclTensor* operator[](size_t k) const { return elements_[k]; }
  size_t size() const { return elements_.size(); }

 private:
  struct Destroy {
    void operator()(aclTensorList* list) const { aclDestroyTensorList(list); }
  };
  std::vector<aclTensor*> elements_;
  std::unique_ptr<aclTensorList, Destroy> list_;
};

}  // namespace openaclnn_verify
