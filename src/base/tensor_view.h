// TensorView: a tensor as operators see it: an address, a type, and up to eight dims with strides in
// elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "acl/acl_base.h"
#include "base/dtype.h"
#include "base/max_rank.h"
#include "base/status.h"

namespace openaclnn {

// Element i is at data + (offset + sum of i_k * strides[k]) * element size.
struct TensorView {
  void* data = nullptr;
  int64_t offset = 0;  // elements
  aclDataType dtype = ACL_DT_UNDEFINED;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // elements

  std::span<const int64_t> shape() const { return {dims, static_cast<size_t>(rank)}; }
  int64_t element_bytes() const { return static_cast<int64_t>(dtype_size(dtype)); }
  bool is_empty() const {
    for (int k = 0; k < rank; ++k) {
      if (dims[k] == 0) return true;
    }
    return false;
  }
  int64_t numel() const {  // requires a successful check_extent
    if (is_empty()) return 0;
    int64_t count = 1;
    for (int k = 0; k < rank; ++k) count *= dims[k];
    return count;
  }
};

// The first byte and the byte after the last one that elements of a view occupy, relative to data. Empty
// views: {0, 0}.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Properties of a view that every call asks for. A tensor's are computed once, when it is created. The default
// values are those of a default view, such as that of an argument that is not given.
struct ViewFacts {
  bool fits = true;          // check_extent succeeds; only then are the others set
  bool is_empty = false;     // if so, the others have no meaning
  bool is_row_major = true;  // without gaps; strides of dims of size 1 don't matter
  bool is_dense = true;
  bool may_overlap_itself = false;
  int64_t data_bytes = 0;  // of all elements
  ByteRange bytes;
};

ViewFacts facts_of(const TensorView& view);

// Fails (161002) if a dim is negative or if the count, byte size or extent exceeds int64.
Status check_extent(const char* name, const TensorView& view);

// Requires a successful check_extent.
ByteRange byte_range(const TensorView& view);

// Returns true if two index tuples of the view may share an address. The test is sufficient: without dims of
// size 1 and sorted by |stride|, each |stride| must exceed the span of all smaller ones. Requires a
// successful check_extent.
bool may_overlap_itself(const TensorView& view);

// Returns true if the elements fill their byte range without gaps: a permutation of contiguous strides.
bool is_dense(const TensorView& view);

// Returns true if a byte of any element has an address in [begin, end). If the view may overlap itself in other ways
// than by strides of 0, the result may be true without such an element.
bool has_element_in(const TensorView& view, uintptr_t begin, uintptr_t end);

// Returns the stride for the addresses of a kernel. A tensor may have any number as the stride of a dim of size 1,
// which no address depends on. It counts as 1 in the last dim and as 0 in others, so kernels needn't avoid it.
inline int64_t stride_of(const TensorView& view, int dim) {
  if (view.dims[dim] > 1) return view.strides[dim];
  return dim == view.rank - 1 ? 1 : 0;
}

// The same of the last n dims. Those that the view lacks have the stride 0.
template <int n>
std::array<int64_t, n> last_strides_of(const TensorView& view) {
  std::array<int64_t, n> strides = {};
  for (int k = std::max(0, n - view.rank); k < n; ++k)
    strides[static_cast<size_t>(k)] = stride_of(view, view.rank - n + k);
  return strides;
}

// Returns the address of the element whose indices are 0.
uintptr_t base_address(const TensorView& view);

// Returns true if base address, dims and strides are equal. The elements may have different sizes.
bool has_same_places(const TensorView& a, const TensorView& b);

// Returns true if the sizes of the elements are equal as well.
bool is_identical(const TensorView& a, const TensorView& b);

// Returns true if both views are dense and their byte ranges intersect, or if they have the same places. Empty views
// overlap nothing.
bool provably_overlap(const TensorView& a, const TensorView& b);

}  // namespace openaclnn
