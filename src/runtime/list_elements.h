// Compact storage for the tensors of list parameters, since a call may have thousands of them.
#pragma once

#include <cstdint>
#include <utility>

#include "base/tensor_view.h"
#include "runtime/recycle.h"

namespace openaclnn {

// The part of a list tensor that every phase 2 needs.
struct ListElement {
  ByteRange range;
  // Index of its offset, rank, dims and strides. They are needed only if tensors share an address.
  int64_t layout = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  bool is_dense = false;
  bool is_empty = true;
};

// The tensors of all list parameters of a call, list by list. Tensors of one index usually have the same
// layout, which is stored once.
class ListElements {
 public:
  void resize(size_t count);
  void set(size_t n, const TensorView& described, const ViewFacts& facts);

  bool empty() const { return elements_.empty(); }
  size_t size() const { return elements_.size(); }
  const ListElement& operator[](size_t n) const { return elements_[n]; }
  TensorView view(size_t n, void* data) const;

  // Returns the addresses of phase 1. The executor then owns them.
  RecycledVector<void*> take_addresses() { return std::move(addresses_); }

 private:
  RecycledVector<ListElement> elements_;
  RecycledVector<int64_t> layouts_;
  RecycledVector<void*> addresses_;
  size_t last_layout_ = 0;
};

}  // namespace openaclnn
