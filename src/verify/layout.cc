// Computes strides and offsets of each layout.
#include "verify/layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace openaclnn_verify {

namespace {

// Returns strides for dims nested in `order` (outermost first) with innermost step `inner`. Each loop but the
// outermost is followed by a gap of `gap` of its own steps.
std::vector<int64_t> nested(std::span<const int64_t> dims, std::span<const size_t> order, int64_t inner,
                            int64_t gap) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = inner;
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = step;
    step *= std::max<int64_t>(dims[order[k]], 1) + gap;
  }
  return strides;
}

}  // namespace

const char* layout_name(Layout layout) {
  static constexpr const char* kNames[] = {"contiguous", "offset", "strided",  "padded",   "transposed",
                                           "reversed",   "mixed",  "expanded", "broadcast"};
  return kNames[static_cast<int>(layout)];
}

View make_view(Layout layout, std::span<const int64_t> dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Empty tensors may have dims whose products exceed int64; their strides do not matter.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return {std::vector<int64_t>(dims.size(), 1), 0};
  View view;
  switch (layout) {
    case Layout::contiguous: view.strides = nested(dims, order, 1, 0); break;
    case Layout::offset:
      view.strides = nested(dims, order, 1, 0);
      view.offset = 1031;
      break;
    case Layout::strided: view.strides = nested(dims, order, 2, 0); break;
    case Layout::padded: view.strides = nested(dims, order, 1, 3); break;
    case Layout::transposed:
      std::reverse(order.begin(), order.end());
      view.strides = nested(dims, order, 1, 0);
      break;
    case Layout::reversed:
      view.strides = nested(dims, order, 1, 0);
      for (int64_t& stride : view.strides) stride = -stride;
      break;
    case Layout::mixed:
      if (!order.empty()) std::rotate(order.begin(), order.begin() + 1, order.end());
      view.strides = nested(dims, order, 1, 1);
      for (size_t k = 0; k < dims.size(); k += 2) view.strides[k] = -view.strides[k];
      for (size_t k = 0; k < dims.size(); ++k) {  // no address depends on these
        if (dims[k] == 1) view.strides[k] = k % 2 == 0 ? INT64_MIN : INT64_MAX;
      }
      view.offset = 5;
      break;
    case Layout::expanded:
      view.strides = nested(dims, order, 1, 0);
      if (!dims.empty()) view.strides[0] = 0;
      break;
    case Layout::broadcast: view.strides.assign(dims.size(), 0); break;
  }
  return view;
}

int64_t count_elements(std::span<const int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace openaclnn_verify
