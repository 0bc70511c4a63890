// Visits the elements of a view.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/tensor_view.h"

namespace openaclnn {

// Calls visit(const std::byte* element) in row-major order, until it returns false if it returns a bool. Requires a
// successful check_extent().
template <class Visit>
void for_each_element(const TensorView& view, const Visit& visit) {
  const int64_t bytes = view.element_bytes();
  std::array<int64_t, kMaxRank> index = {};
  const int64_t count = view.numel();
  int64_t at = view.offset;
  for (int64_t n = 0; n < count; ++n) {
    const std::byte* const element = static_cast<const std::byte*>(view.data) + at * bytes;
    if constexpr (std::is_same_v<decltype(visit(element)), bool>) {
      if (!visit(element)) return;
    } else {
      visit(element);
    }
    for (int k = view.rank - 1; k >= 0; --k) {
      const size_t d = static_cast<size_t>(k);
      if (++index[d] < view.dims[k]) {
        at += view.strides[k];
        break;
      }
      // A dim of one element may have any stride, so the code never adds a stride for a step that it does not
      // take.
      at -= view.strides[k] * (view.dims[k] - 1);
      index[d] = 0;
    }
  }
}

}  // namespace openaclnn
