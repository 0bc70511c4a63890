// The tensors of list parameters, in little memory, since a call may have thousands of them.
#pragma once

#include <cstdint>
#include <utility>

#include "base/tensor_view.h"
#include "runtime/recycle.h"

namespace openaclnn {

// One tensor of a list, as far as every phase 2 needs it.
struct ListElement {
  ByteRange range;
  // Where its offset, rank, dims and strides lie. They are needed only when tensors share an address.
  int64_t layout = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  bool is_dense = false;
  bool is_empty = true;
};

// The tensors of all list parameters of a call, list by list. The tensors of one index mostly have one layout, which is stored
// once.
class ListElements {
 public:
  void resize(size_t count);
  void set(size_t n, const TensorView& described);

  bool empty() const { return elements_.empty(); }
  size_t size() const { return elements_.size(); }
  const ListElement& operator[](size_t n) const { return elements_[n]; }
  TensorView view(size_t n, void* data) const;

  // The addresses of phase 1. The executor owns them from then on.
  RecycledVector<void*> take_addresses() { return std::move(addresses_); }

 private:
  RecycledVector<ListElement> elements_;
  RecycledVector<int64_t> layouts_;
  RecycledVector<void*> addresses_;
  size_t last_layout_ = 0;
};

}  // namespace openaclnn
