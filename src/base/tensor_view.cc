// Computes extents and overlap of tensor views in checked arithmetic.
#include "base/tensor_view.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "base/checked.h"
#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

namespace {

struct Dim {
  int64_t size;
  uint64_t stride;  // |stride|
};

// Dims larger than 1, sorted by |stride|.
struct SortedDims {
  std::array<Dim, kMaxRank> dim;
  int count = 0;
};

SortedDims sorted_dims(const TensorView& view) {
  SortedDims sorted;
  for (int k = 0; k < view.rank; ++k) {
    if (view.dims[k] == 1) continue;
    const int64_t stride = view.strides[k];
    const uint64_t magnitude = stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
    // Insertion sort suffices for so few dims and avoids the recursion of a library sort.
    int at = sorted.count++;
    for (; at > 0 && sorted.dim[at - 1].stride > magnitude; --at) sorted.dim[at] = sorted.dim[at - 1];
    sorted.dim[at] = {view.dims[k], magnitude};
  }
  return sorted;
}

// Returns false if a dim is negative or if the count, byte size or extent exceeds int64.
bool fits(const TensorView& view) {
  if (std::any_of(view.dims, view.dims + view.rank, [](int64_t dim) { return dim < 0; })) return false;
  if (view.is_empty()) return true;
  const Checked element_bytes = view.element_bytes();
  Checked count = 1;
  Checked lowest = view.offset;
  Checked highest = view.offset;
  for (int k = 0; k < view.rank; ++k) {
    count = count * view.dims[k];
    const Checked reach = Checked(view.dims[k] - 1) * view.strides[k];
    Checked& end = view.strides[k] < 0 ? lowest : highest;
    end = end + reach;
  }
  const Checked bytes = count * element_bytes;
  const Checked begin = lowest * element_bytes;
  const Checked end = (highest + 1) * element_bytes;
  const Checked span = end + begin * -1;
  return bytes.ok() && begin.ok() && end.ok() && span.ok();
}

// Returns true for the strides that a NULL strides pointer means. Strides of dims of size 1 don't matter.
// Requires a view that fits and has elements.
bool is_row_major(const TensorView& view) {
  int64_t expected = 1;
  for (int k = view.rank - 1; k >= 0; --k) {
    if (view.dims[k] != 1 && view.strides[k] != expected) return false;
    expected *= view.dims[k];
  }
  return true;
}

uintptr_t first_address(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data) + static_cast<uintptr_t>(byte_range(view).begin);
}

}  // namespace

Status check_extent(const char* name, const TensorView& view) {
  if (fits(view)) return {};
  for (int k = 0; k < view.rank; ++k) {
    if (view.dims[k] < 0) {
      return {ACLNN_ERR_PARAM_INVALID, text(name, " has shape ", shape_text(view.shape()), "; dim ", k,
                                            " is negative; dims must be at least 0")};
    }
  }
  return {ACLNN_ERR_PARAM_INVALID,
          text(name, " has shape ", shape_text(view.shape()), ", strides ",
               shape_text({view.strides, static_cast<size_t>(view.rank)}), ", offset ", view.offset,
               "; its extent in bytes must fit a signed 64-bit integer")};
}

ViewFacts facts_of(const TensorView& view) {
  ViewFacts facts;
  facts.fits = fits(view);
  if (!facts.fits) return facts;
  facts.is_empty = view.is_empty();
  if (facts.is_empty) return facts;
  facts.is_row_major = is_row_major(view);
  facts.is_dense = facts.is_row_major || is_dense(view);
  facts.may_overlap_itself = !facts.is_row_major && may_overlap_itself(view);
  facts.data_bytes = view.numel() * view.element_bytes();
  facts.bytes = byte_range(view);
  return facts;
}

ByteRange byte_range(const TensorView& view) {
  if (view.is_empty()) return {};
  int64_t lowest = view.offset;
  int64_t highest = view.offset;
  for (int k = 0; k < view.rank; ++k) {
    const int64_t reach = (view.dims[k] - 1) * view.strides[k];
    (view.strides[k] < 0 ? lowest : highest) += reach;
  }
  return {lowest * view.element_bytes(), (highest + 1) * view.element_bytes()};
}

bool may_overlap_itself(const TensorView& view) {
  if (view.is_empty()) return false;
  const SortedDims sorted = sorted_dims(view);
  // Sum of (dim - 1) * |stride| over the smaller strides; check_extent keeps it below 2^63.
  uint64_t span = 0;
  for (int k = 0; k < sorted.count; ++k) {
    if (sorted.dim[k].stride <= span) return true;
    span += static_cast<uint64_t>(sorted.dim[k].size - 1) * sorted.dim[k].stride;
  }
  return false;
}

bool is_dense(const TensorView& view) {
  const SortedDims sorted = sorted_dims(view);
  uint64_t expected = 1;
  for (int k = 0; k < sorted.count; ++k) {
    if (sorted.dim[k].stride != expected) return false;
    expected *= static_cast<uint64_t>(sorted.dim[k].size);
  }
  return true;
}

// Each stride exceeds the reach of all smaller ones, so the elements ascend with the indices of the sorted dims, the
// largest stride first. The loop finds the first element that ends behind the range's begin, index by index.
bool has_element_in(const TensorView& view, uintptr_t begin, uintptr_t end) {
  if (view.is_empty()) return false;
  const ByteRange all = byte_range(view);
  // Relative to data, as `all` is.
  const uintptr_t data = reinterpret_cast<uintptr_t>(view.data);
  const ByteRange range = {static_cast<int64_t>(begin - data), static_cast<int64_t>(end - data)};
  if (range.end <= all.begin || all.end <= range.begin) return false;
  const SortedDims sorted = sorted_dims(view);
  // In elements from the lowest one on.
  const int64_t wanted = std::max<int64_t>(0, range.begin - all.begin) / view.element_bytes();
  int64_t reach = (all.end - all.begin) / view.element_bytes() - 1;
  int64_t found = 0;
  for (int k = sorted.count - 1; k >= 0 && sorted.dim[k].stride > 0; --k) {
    const int64_t stride = static_cast<int64_t>(sorted.dim[k].stride);
    reach -= (sorted.dim[k].size - 1) * stride;
    if (stride <= reach) return true;
    if (found + reach < wanted) found += ceil_div(wanted - reach - found, stride) * stride;
  }
  return found * view.element_bytes() + all.begin < range.end;
}

uintptr_t base_address(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data) + static_cast<uintptr_t>(view.offset * view.element_bytes());
}

bool has_same_places(const TensorView& a, const TensorView& b) {
  return a.rank == b.rank && base_address(a) == base_address(b) &&
         std::equal(a.dims, a.dims + a.rank, b.dims) && std::equal(a.strides, a.strides + a.rank, b.strides);
}

bool is_identical(const TensorView& a, const TensorView& b) {
  return a.element_bytes() == b.element_bytes() && has_same_places(a, b);
}

bool provably_overlap(const TensorView& a, const TensorView& b) {
  if (a.is_empty() || b.is_empty()) return false;
  if (has_same_places(a, b)) return true;  // at least the first elements meet
  if (!is_dense(a) || !is_dense(b)) return false;
  const ByteRange range_a = byte_range(a);
  const ByteRange range_b = byte_range(b);
  const uintptr_t begin_a = first_address(a);
  const uintptr_t begin_b = first_address(b);
  const uintptr_t bytes_a = static_cast<uintptr_t>(range_a.end - range_a.begin);
  const uintptr_t bytes_b = static_cast<uintptr_t>(range_b.end - range_b.begin);
  return begin_a < begin_b + bytes_b && begin_b < begin_a + bytes_a;
}

}  // namespace openaclnn
