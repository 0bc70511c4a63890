// TensorView: what an operator knows of a tensor: an address, a type, and up to eight dims with strides in elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "acl/acl_base.h"
#include "base/dtype.h"
#include "base/max_rank.h"
#include "base/status.h"

namespace openaclnn {

// Element i lives at data + (offset + sum of i_k * strides[k]) * element size.
struct TensorView {
  void* data = nullptr;
  int64_t offset = 0;  // elements
  aclDataType dtype = ACL_DT_UNDEFINED;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // elements

  std::span<const int64_t> shape() const { return {dims, static_cast<size_t>(rank)}; }
  int64_t element_bytes() const { return static_cast<int64_t>(dtype_size(dtype)); }
  bool is_empty() const;
  int64_t numel() const;  // trusts check_extent
};

// The first byte and one past the last byte that elements of a view occupy, relative to data. Empty views: {0, 0}.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Fails (161002) when a dim is negative or when the count, byte size or extent leaves int64.
Status check_extent(const char* name, const TensorView& view);

// Trusts check_extent.
ByteRange byte_range(const TensorView& view);

// True when two index tuples of the view share an address, by the sufficient test: dims of size 1 dropped, the rest sorted
// by |stride|, each |stride| must exceed the span of all smaller ones. Trusts check_extent.
bool may_overlap_itself(const TensorView& view);

// True when the elements fill their byte range without gaps: a permutation of contiguous strides.
bool is_dense(const TensorView& view);

// Same base, dims and strides.
bool is_identical(const TensorView& a, const TensorView& b);

// "Provable" overlap: both dense and the byte ranges meet, or identical. Empty views overlap nothing.
bool provably_overlap(const TensorView& a, const TensorView& b);

}  // namespace openaclnn
