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

// Elements at equal distances in memory.
struct Run {
  std::byte* first;
  int64_t count;
  int64_t step;  // in bytes
};

// The size is known to the compiler: tests spend much of their time copying elements.
template <size_t kBytes>
void copy_elements(const Run& to, const Run& from) {
  std::byte* target = to.first;
  const std::byte* source = from.first;
  for (int64_t left = from.count; left > 0; --left) {
    std::memcpy(target, source, kBytes);
    target += to.step;
    source += from.step;
  }
}

void copy_elements(const Run& to, const Run& from, int64_t bytes) {
  if (to.step == bytes && from.step == bytes) {
    std::memcpy(to.first, from.first, static_cast<size_t>(from.count * bytes));
    return;
  }
  switch (bytes) {
    case 1: return copy_elements<1>(to, from);
    case 2: return copy_elements<2>(to, from);
    case 4: return copy_elements<4>(to, from);
    case 8: return copy_elements<8>(to, from);
    case 16: return copy_elements<16>(to, from);
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
void HostTensor::for_each_run(const Visit& visit) const {
  if (numel_ == 0) return;
  const size_t rank = dims_.size();
  if (is_contiguous_ || rank == 0) return visit(Run{address(view_.offset), numel_, element_bytes_});
  const int64_t columns = dims_[rank - 1];
  // A dim of one element may have any stride, so no stride is added for a step that is not taken.
  const int64_t step = (columns == 1 ? 1 : view_.strides[rank - 1]) * element_bytes_;
  Shape index(rank);
  int64_t row = view_.offset;
  for (int64_t left = numel_; left > 0; left -= columns) {
    visit(Run{address(row), columns, step});
    for (size_t k = rank - 1; k-- > 0;) {
      if (++index[k] < dims_[k]) {
        row += view_.strides[k];
        break;
      }
      row -= (dims_[k] - 1) * view_.strides[k];
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
  std::vector<std::byte> elements = all_bytes();
  std::byte* next = elements.data();
  made.for_each_run([&](const Run& run) {
    copy_elements(run, {next, run.count, element_bytes_}, element_bytes_);
    next += run.count * element_bytes_;
  });
  return made;
}

int64_t HostTensor::position(int64_t i) const {
  int64_t position = view_.offset;
  for (size_t k = dims_.size(); k-- > 0;) {
    position += i % dims_[k] * view_.strides[k];
    i /= dims_[k];
  }
  return position;
}

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
  for_each_run([&](const Run& run) {
    copy_elements({next, run.count, element_bytes_}, run, element_bytes_);
    next += run.count * element_bytes_;
  });
  return all;
}

bool HostTensor::same_elements(const HostTensor& other) const {
  const std::vector<std::byte> own = all_bytes(), others = other.all_bytes();
  // The operator == of vectors of bytes compares them one by one.
  return own.size() == others.size() &&
         (own.empty() || std::memcmp(own.data(), others.data(), own.size()) == 0);
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
         (remembered_.empty() || std::memcmp(remembered_.data(), memory_->data(), remembered_.size()) == 0);
}

bool HostTensor::gaps_intact() const {
  // All bytes are elements, so there are no gaps.
  if (memory_->size() == static_cast<size_t>(numel_ * element_bytes_)) return memory_->margins_intact();
  std::vector<std::byte> gaps(memory_->data(), memory_->data() + memory_->size());
  std::vector<std::byte> canary(static_cast<size_t>(element_bytes_), std::byte{GuardedBuffer::kCanary});
  for_each_run([&](Run run) {
    run.first = gaps.data() + (run.first - memory_->data());
    copy_elements(run, {canary.data(), run.count, 0}, element_bytes_);
  });
  return GuardedBuffer::all_canaries(gaps) && memory_->margins_intact();
}

}  // namespace openaclnn_verify
