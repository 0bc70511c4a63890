// Computes addresses of elements and checks the memory around them.
#include "verify/host_tensor.h"

#include <algorithm>
#include <cstring>

#include "verify/number.h"

namespace openaclnn_verify {

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

// Uses a compile-time size: tests spend most of their time copying elements.
void copy_element(void* to, const void* from, int64_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

HostTensor::HostTensor(aclDataType dtype, Shape dims, Layout layout, Placement placement)
    : dtype_(dtype),
      element_bytes_(openaclnn_verify::element_bytes(dtype)),
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
      element_bytes_(openaclnn_verify::element_bytes(dtype)),
      dims_(std::move(dims)),
      view_(std::move(view)),
      is_contiguous_(false),
      numel_(count_elements(dims_)),
      memory_(memory.memory_),
      data_(static_cast<std::byte*>(data)) {}

template <class Visit>
void HostTensor::for_each_element(const Visit& visit) const {
  if (numel_ == 0) return;
  const size_t rank = dims_.size();
  const int64_t columns = rank == 0 ? 1 : dims_[rank - 1];
  const int64_t step = rank == 0 ? 0 : view_.strides[rank - 1];
  Shape index(rank);
  int64_t row = view_.offset;
  for (int64_t left = numel_; left > 0; left -= columns) {
    for (int64_t i = 0; i < columns; ++i) {
      visit(reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(data_) +
                                         static_cast<uintptr_t>((row + i * step) * element_bytes_)));
    }
    for (size_t k = rank < 2 ? 0 : rank - 1; k-- > 0;) {
      row += view_.strides[k];
      if (++index[k] < dims_[k]) break;
      row -= dims_[k] * view_.strides[k];
      index[k] = 0;
    }
  }
}

HostTensor HostTensor::alias() const {
  HostTensor same(dtype_, dims_, view_, *this, data_);
  same.is_contiguous_ = is_contiguous_;
  return same;
}

HostTensor HostTensor::copy(Layout layout, Placement placement) const {
  HostTensor made(dtype_, dims_, layout, placement);
  const std::vector<std::byte> elements = all_bytes();
  const std::byte* next = elements.data();
  made.for_each_element([&](std::byte* element) {
    copy_element(element, next, element_bytes_);
    next += element_bytes_;
  });
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
  copy_element(&bits, element(i), element_bytes_);
  return bits;
}

void HostTensor::set_bits(int64_t i, uint64_t bits) { copy_element(element(i), &bits, element_bytes_); }

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
  std::byte* next = all.data();
  for_each_element([&](const std::byte* element) {
    copy_element(next, element, element_bytes_);
    next += element_bytes_;
  });
  return all;
}

Descriptor HostTensor::describe_as(const Shape& dims, aclFormat format) const {
  const bool own_strides = !is_contiguous_ && dims == dims_;
  const int64_t span = static_cast<int64_t>(memory_->size()) / element_bytes_;
  return Descriptor(aclCreateTensor(dims.data(), dims.size(), dtype_,
                                    own_strides ? view_.strides.data() : nullptr, view_.offset, format, &span,
                                    1, memory_->address_for_library(data_)));
}

void HostTensor::remember() { remembered_.assign(memory_->data(), memory_->data() + memory_->size()); }

bool HostTensor::unchanged() const {
  return memory_->margins_intact() && remembered_.size() == memory_->size() &&
         std::equal(remembered_.begin(), remembered_.end(), memory_->data());
}

bool HostTensor::gaps_intact() const {
  // All bytes are elements, so there are no gaps.
  if (memory_->size() == static_cast<size_t>(numel_ * element_bytes_)) return memory_->margins_intact();
  std::vector<bool> used(memory_->size());
  for_each_element([&](const std::byte* element) {
    std::fill_n(used.begin() + (element - memory_->data()), element_bytes_, true);
  });
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && memory_->data()[i] != std::byte{GuardedBuffer::kCanary}) return false;
  }
  return memory_->margins_intact();
}

}  // namespace openaclnn_verify
