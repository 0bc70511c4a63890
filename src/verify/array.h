// Elements of a tensor on the host, in row-major order without gaps. The memory is shared, or borrowed from a
// caller who keeps it alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "acl/acl_base.h"
#include "verify/host_tensor.h"

namespace openaclnn_verify {

struct Array {
  aclDataType dtype = ACL_DT_UNDEFINED;
  Shape dims;
  std::shared_ptr<const std::byte> data;  // nullptr: only dtype and dims are known

  int64_t numel() const;
  int64_t bytes() const;
  bool has_data() const { return data != nullptr || numel() == 0; }

  // Writes the elements from `begin` on as doubles. Exact for every real dtype except integers beyond 2^53.
  void widen(int64_t begin, std::span<double> to) const;
  double get(int64_t element) const;
};

// The array owns the elements, a vector of bytes or numbers.
template <class Elements>
Array owned_array(aclDataType dtype, Shape dims, Elements elements) {
  const auto owner = std::make_shared<Elements>(std::move(elements));
  const auto* const bytes = reinterpret_cast<const std::byte*>(owner->data());
  return {dtype, std::move(dims), std::shared_ptr<const std::byte>(owner, bytes)};
}
template <class Doubles>
Array array_of_doubles(Shape dims, Doubles values) {
  return owned_array(ACL_DOUBLE, std::move(dims), std::move(values));
}
// The caller keeps `data` alive.
Array borrowed_array(aclDataType dtype, Shape dims, const void* data);

}  // namespace openaclnn_verify
