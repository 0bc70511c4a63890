// A tensor of a test: guarded memory that holds exactly the span of its elements, a description for the
// library, and access by logical index.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "aclnn/acl_meta.h"
#include "verify/guarded_buffer.h"
#include "verify/layout.h"
#include "verify/number.h"

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

  std::byte* element(int64_t i) const {  // in row-major order
    return address(is_contiguous_ ? view_.offset + i : position(i));
  }
  uint64_t bits(int64_t i) const {  // elements of up to 8 bytes
    uint64_t bits = 0;
    copy_element(&bits, element(i));
    return bits;
  }
  void set_bits(int64_t i, uint64_t bits) { copy_element(element(i), &bits); }
  double get(int64_t i) const { return decode(dtype_, bits(i)); }
  void set(int64_t i, double value) { set_bits(i, encode(dtype_, value)); }  // rounds to the dtype
  void fill(std::span<const double> values);
  void fill(std::initializer_list<double> values) { fill(std::span(values.begin(), values.size())); }
  std::vector<uint64_t> all_bits() const;
  std::vector<std::byte> all_bytes() const;  // the elements in row-major order
  // Compares the bytes of all elements with those of a tensor with the same shape and dtype.
  bool same_elements(const HostTensor& other) const;

  Descriptor describe() const { return describe_as(dims_); }
  // Describes the tensor with other dims, contiguous if they differ from its own.
  Descriptor describe_as(const Shape& dims, aclFormat format = ACL_FORMAT_ND) const;

  // Stores every byte for unchanged().
  void remember();
  bool unchanged() const;
  // Returns true if no byte between and around the elements has changed.
  bool gaps_intact() const;

 private:
  // Position and address in elements from data_, which is not necessarily in the same object.
  int64_t position(int64_t i) const;
  std::byte* address(int64_t position) const {
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(data_) +
                                        static_cast<uintptr_t>(position * element_bytes_));
  }
  // The sizes are known to the compiler: tests spend much of their time on single elements.
  void copy_element(void* to, const void* from) const {
    switch (element_bytes_) {
      case 1: std::memcpy(to, from, 1); break;
      case 2: std::memcpy(to, from, 2); break;
      case 4: std::memcpy(to, from, 4); break;
      case 8: std::memcpy(to, from, 8); break;
    }
  }
  // Calls visit(elements) for runs in row-major order, without the divisions of position(), which cost more
  // than the elements.
  template <class Visit>
  void for_each_run(const Visit& visit) const;

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
