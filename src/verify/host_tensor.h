// A tensor of a test: guarded memory that holds exactly the span of its elements, a description for the
// library, and access by logical index.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "verify/guarded_buffer.h"
#include "verify/layout.h"

namespace openaclnn_verify {

// Owns a handle.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(aclTensor* handle) : handle_(handle) {}
  Descriptor(Descriptor&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (handle_ != nullptr) aclDestroyTensor(handle_);
  }
  aclTensor* get() const { return handle_; }

 private:
  aclTensor* handle_ = nullptr;
};

using Shape = std::vector<int64_t>;

class HostTensor {
 public:
  HostTensor(aclDataType dtype, Shape dims, Layout layout = Layout::contiguous,
             Placement placement = Placement::ends_at_guard);
  // Uses the memory of another tensor: element (0, …) + offset is at `data`.
  HostTensor(aclDataType dtype, Shape dims, View view, const HostTensor& memory, void* data);

  // Returns a tensor with the same elements in the same memory.
  HostTensor alias() const;
  // Returns the same shape and values in new memory.
  HostTensor copy(Layout layout, Placement placement = Placement::ends_at_guard) const;

  aclDataType dtype() const { return dtype_; }
  const Shape& dims() const { return dims_; }
  const View& view() const { return view_; }
  int64_t numel() const { return numel_; }
  void* data() const { return data_; }  // the address passed to the library; not necessarily readable

  std::byte* element(int64_t i) const;  // in row-major order
  uint64_t bits(int64_t i) const;       // elements of up to 8 bytes
  void set_bits(int64_t i, uint64_t bits);
  double get(int64_t i) const;
  void set(int64_t i, double value);  // rounds to the dtype
  void fill(std::span<const double> values);
  void fill(std::initializer_list<double> values) { fill(std::span(values.begin(), values.size())); }
  std::vector<uint64_t> all_bits() const;
  std::vector<std::byte> all_bytes() const;  // the elements in row-major order

  Descriptor describe() const { return describe_as(dims_); }
  // Describes the tensor with other dims, contiguous if they differ from its own.
  Descriptor describe_as(const Shape& dims, aclFormat format = ACL_FORMAT_ND) const;

  // Stores every byte for unchanged().
  void remember();
  bool unchanged() const;
  // Returns true if no byte between and around the elements has changed.
  bool gaps_intact() const;

 private:
  // Calls visit(element) in row-major order, without the divisions of element(), which cost more than the
  // elements.
  template <class Visit>
  void for_each_element(const Visit& visit) const;

  aclDataType dtype_;
  int64_t element_bytes_;
  Shape dims_;
  View view_;
  bool is_contiguous_;
  int64_t numel_;
  std::shared_ptr<GuardedBuffer> memory_;
  std::byte* data_;
  std::vector<std::byte> remembered_;
};

}  // namespace openaclnn_verify
