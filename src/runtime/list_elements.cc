// Stores the tensors of lists with their byte ranges. Consecutive tensors with equal layouts share one.
#include "runtime/list_elements.h"

#include <algorithm>

namespace openaclnn {

void ListElements::resize(size_t count) {
  elements_.resize(count);
  addresses_.resize(count);
}

void ListElements::set(size_t n, const TensorView& described, const ViewFacts& facts) {
  const size_t rank = static_cast<size_t>(described.rank);
  // An empty view may have any offset, but kernels compute a base address from it.
  const int64_t offset = facts.is_empty ? 0 : described.offset;
  const auto is_last = [&] {
    if (layouts_.empty()) return false;
    const int64_t* const last = layouts_.data() + last_layout_;
    bool is_same = last[0] == offset && last[1] == described.rank;
    for (size_t k = 0; is_same && k < rank; ++k)  // a call of memcmp takes longer
      is_same = last[2 + k] == described.dims[k] && last[2 + rank + k] == described.strides[k];
    return is_same;
  };
  if (!is_last()) {
    last_layout_ = layouts_.size();
    layouts_.push_back(offset);
    layouts_.push_back(described.rank);
    layouts_.insert(layouts_.end(), described.dims, described.dims + rank);
    layouts_.insert(layouts_.end(), described.strides, described.strides + rank);
  }
  // Member by member: a temporary element would be written in small pieces and read back in large ones, for
  // which the processor waits until they are in the cache.
  ListElement& element = elements_[n];
  element.range.begin = facts.bytes.begin;
  element.range.end = facts.bytes.end;
  element.layout = static_cast<int64_t>(last_layout_);
  element.dtype = described.dtype;
  element.is_dense = facts.is_dense;
  element.is_empty = facts.is_empty;
  addresses_[n] = described.data;
}

TensorView ListElements::view(size_t n, void* data) const {
  const int64_t* const layout = layouts_.data() + elements_[n].layout;
  TensorView view;
  view.data = data;
  view.dtype = elements_[n].dtype;
  view.offset = layout[0];
  view.rank = static_cast<int>(layout[1]);
  std::copy_n(layout + 2, view.rank, view.dims);
  std::copy_n(layout + 2 + view.rank, view.rank, view.strides);
  return view;
}

}  // namespace openaclnn
