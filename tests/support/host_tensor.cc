// Addresses of elements, and what a test can see of the memory around them.
#include "support/host_tensor.h"

#include <algorithm>
#include <cstring>

#include "support/number.h"

namespace openaclnn_test {

namespace {

struct Reach {
  int64_t lowest;
  int64_t count;  // elements from the lowest to the highest
};

Reach reach_of(const Shape& dims, const View& view) {
  if (count_elements(dims) == 0) return {0, 0};
  int64_t lowest = view.offset;
  int64_t highest = view.offset;
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t distance = (dims[k] - 1) * view.strides[k];
    lowest += std::min<int64_t>(distance, 0);
    highest += std::max<int64_t>(distance, 0);
  }
  return {lowest, highest - lowest + 1};
}

}  // namespace

HostTensor::HostTensor(aclDataType dtype, Shape dims, Layout layout, Placement placement)
    : dtype_(dtype),
      element_bytes_(openaclnn_test::element_bytes(dtype)),
      dims_(std::move(dims)),
      view_(make_view(layout, dims_)),
      is_contiguous_(layout == Layout::contiguous),
      numel_(count_elements(dims_)) {
  const Reach reach = reach_of(dims_, view_);
  memory_ = std::make_shared<GuardedBuffer>(static_cast<size_t>(reach.count * element_bytes_), placement);
  data_ = reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(memory_->data()) -
                                       static_cast<uintptr_t>(reach.lowest * element_bytes_));
}

HostTensor::HostTensor(aclDataType dtype, Shape dims, View view, const HostTensor& memory, void* data)
    : dtype_(dtype),
      element_bytes_(openaclnn_test::element_bytes(dtype)),
      dims_(std::move(dims)),
      view_(std::move(view)),
      is_contiguous_(false),
      numel_(count_elements(dims_)),
      memory_(memory.memory_),
      data_(static_cast<std::byte*>(data)) {}

HostTensor HostTensor::alias() const {
  HostTensor same(dtype_, dims_, view_, *this, data_);
  same.is_contiguous_ = is_contiguous_;
  return same;
}

HostTensor HostTensor::copy(Layout layout, Placement placement) const {
  HostTensor made(dtype_, dims_, layout, placement);
  for (int64_t i = 0; i < numel_; ++i)
    std::memcpy(made.element(i), element(i), static_cast<size_t>(element_bytes_));
  return made;
}

std::byte* HostTensor::element(int64_t i) const {
  int64_t position = view_.offset;
  if (is_contiguous_) {
    position += i;
  } else {
    for (size_t k = dims_.size(); k-- > 0;) {
      position += i % dims_[k] * view_.strides[k];
      i /= dims_[k];
    }
  }
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(data_) +
                                      static_cast<uintptr_t>(position * element_bytes_));
}

uint64_t HostTensor::bits(int64_t i) const {
  uint64_t bits = 0;
  // Of a size that the compiler knows: reading elements is what oracles do most.
  switch (element_bytes_) {
    case 2: std::memcpy(&bits, element(i), 2); break;
    case 4: std::memcpy(&bits, element(i), 4); break;
    default: std::memcpy(&bits, element(i), static_cast<size_t>(element_bytes_));
  }
  return bits;
}

void HostTensor::set_bits(int64_t i, uint64_t bits) {
  std::memcpy(element(i), &bits, static_cast<size_t>(element_bytes_));
}

double HostTensor::get(int64_t i) const { return decode(dtype_, bits(i)); }
void HostTensor::set(int64_t i, double value) { set_bits(i, encode(dtype_, value)); }

void HostTensor::fill(std::span<const double> values) {
  for (int64_t i = 0; i < numel_; ++i) set(i, values[static_cast<size_t>(i) % values.size()]);
}

std::vector<uint64_t> HostTensor::all_bits() const {
  std::vector<uint64_t> all(static_cast<size_t>(numel_));
  for (int64_t i = 0; i < numel_; ++i) all[static_cast<size_t>(i)] = bits(i);
  return all;
}

std::vector<std::byte> HostTensor::all_bytes() const {
  std::vector<std::byte> all(static_cast<size_t>(numel_ * element_bytes_));
  for (int64_t i = 0; i < numel_; ++i) {
    std::memcpy(all.data() + i * element_bytes_, element(i), static_cast<size_t>(element_bytes_));
  }
  return all;
}

Descriptor HostTensor::describe_as(const Shape& dims, aclFormat format) const {
  const bool own_strides = !is_contiguous_ && dims == dims_;
  const int64_t span = static_cast<int64_t>(memory_->size()) / element_bytes_;
  return Descriptor(aclCreateTensor(dims.data(), dims.size(), dtype_,
                                    own_strides ? view_.strides.data() : nullptr, view_.offset, format, &span,
                                    1, data_));
}

void HostTensor::remember() { remembered_.assign(memory_->data(), memory_->data() + memory_->size()); }

bool HostTensor::unchanged() const {
  return memory_->margins_intact() && remembered_.size() == memory_->size() &&
         std::equal(remembered_.begin(), remembered_.end(), memory_->data());
}

bool HostTensor::gaps_intact() const {
  std::vector<bool> used(memory_->size());
  for (int64_t i = 0; i < numel_; ++i) {
    const auto at = element(i) - memory_->data();
    std::fill_n(used.begin() + at, element_bytes_, true);
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && memory_->data()[i] != std::byte{GuardedBuffer::kCanary}) return false;
  }
  return memory_->margins_intact();
}

}  // namespace openaclnn_test
