// Stores the tensors of lists with their byte ranges. Consecutive tensors with equal layouts share one.
#include "runtime/list_elements.h"

#include <algorithm>
#include <array>

namespace openaclnn {

void ListElements::resize(size_t count) {
  elements_.resize(count);
  addresses_.resize(count);
}

void ListElements::set(size_t n, const TensorView& described) {
  const size_t rank = static_cast<size_t>(described.rank);
  const bool is_empty = described.is_empty();
  // An empty view may have any offset, but kernels compute a base address from it.
  const std::array<int64_t, 2> head = {is_empty ? 0 : described.offset, described.rank};
  const auto is_last = [&] {
    const int64_t* const last = layouts_.data() + last_layout_;
    return !layouts_.empty() && std::equal(head.begin(), head.end(), last) &&
           std::equal(described.dims, described.dims + rank, last + head.size()) &&
           std::equal(described.strides, described.strides + rank, last + head.size() + rank);
  };
  if (!is_last()) {
    last_layout_ = layouts_.size();
    layouts_.insert(layouts_.end(), head.begin(), head.end());
    layouts_.insert(layouts_.end(), described.dims, described.dims + rank);
    layouts_.insert(layouts_.end(), described.strides, described.strides + rank);
  }
  elements_[n] = {byte_range(described), static_cast<int64_t>(last_layout_), described.dtype,
                  is_dense(described), is_empty};
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
