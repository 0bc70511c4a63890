// Memory layouts of test tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace openaclnn_verify {

enum class Layout {
  contiguous,  // described with NULL strides
  offset,      // contiguous, with an offset; the described address is not readable
  strided,     // every second element
  padded,      // rows followed by a gap
  transposed,  // column-major
  reversed,    // all strides negative
  mixed,       // rotated dims, gaps, signs alternating; any number as the stride of a dim of size 1
  expanded,    // stride 0 along the first dim; inputs only
  broadcast,   // all strides 0; inputs only
};

inline constexpr Layout kOutputLayouts[] = {Layout::contiguous, Layout::offset,     Layout::strided,
                                            Layout::padded,     Layout::transposed, Layout::reversed,
                                            Layout::mixed};
inline constexpr Layout kInputLayouts[] = {Layout::contiguous, Layout::offset,     Layout::strided,
                                           Layout::padded,     Layout::transposed, Layout::reversed,
                                           Layout::mixed,      Layout::expanded,   Layout::broadcast};

const char* layout_name(Layout layout);

// Strides and offset in elements.
struct View {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};
View make_view(Layout layout, std::span<const int64_t> dims);

int64_t count_elements(std::span<const int64_t> dims);

}  // namespace openaclnn_verify
