// The checks of phase 2 over all tensors of a call, single ones and those of lists.
#include "runtime/tensor_lists.h"

#include <algorithm>
#include <compare>
#include <memory>
#include <string>

#include "base/text.h"
#include "runtime/address_faults.h"
#include "runtime/executor.h"
#include "runtime/memory.h"

namespace openaclnn {

namespace {

// A tensor that the task accesses. Operands compare by their place in the signature, lists from their first tensor on.
struct Operand {
  int parameter;
  bool is_written;
  int64_t element;       // within the list; 0 for a single tensor
  uintptr_t begin, end;  // the bytes from its lowest to its highest element

  friend bool operator<(const Operand& a, const Operand& b) {
    return a.parameter != b.parameter ? a.parameter < b.parameter : a.element < b.element;
  }
};

class Operands {
 public:
  Operands(const Call& call, const CallAddresses& addresses) : call_(call), addresses_(addresses) {}

  const Parameter& parameter(const Operand& operand) const {
    return call_.parameters[static_cast<size_t>(operand.parameter)];
  }
  std::string name(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    return of.is_list ? text(of.name, "[", operand.element, "]") : of.name;
  }
  TensorView view(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    const size_t element = of.first_element + static_cast<size_t>(operand.element);
    if (of.is_list) return call_.elements.view(element, addresses_.lists->addresses[element]);
    TensorView view = of.view;
    view.data = addresses_.tensors[static_cast<size_t>(operand.parameter)];
    return view;
  }

  // visit(operand, data, dtype, is_dense) for each tensor that the task accesses, in the order of the signature.
  template <class Visit>
  Status for_each(const Visit& visit) const {
    const auto operand = [](int k, int64_t element, void* data, const ByteRange& range, bool is_written) {
      const uintptr_t base = reinterpret_cast<uintptr_t>(data);
      return Operand{k, is_written, element, base + static_cast<uintptr_t>(range.begin),
                     base + static_cast<uintptr_t>(range.end)};
    };
    for (int k = 0; k < static_cast<int>(call_.parameters.size()); ++k) {
      const Parameter& of = call_.parameters[static_cast<size_t>(k)];
      if (!of.is_accessed) continue;
      if (!of.is_list) {
        void* const data = addresses_.tensors[static_cast<size_t>(k)];
        OPENACLNN_TRY(visit(operand(k, 0, data, byte_range(of.view), of.is_output), data, of.view.dtype,
                            is_dense(of.view)));
        continue;
      }
      for (size_t n = 0; n < of.element_count; ++n) {
        const ListElement& element = call_.elements[of.first_element + n];
        if (element.is_empty) continue;
        void* const data = addresses_.lists->addresses[of.first_element + n];
        OPENACLNN_TRY(visit(operand(k, static_cast<int64_t>(n), data, element.range, of.is_output), data,
                            element.dtype, element.is_dense));
      }
    }
    return {};
  }

  // An input that is the very view of an output it may equal: of lists, the output with the same index.
  bool is_tolerated(const Operand& input, const Operand& output) const {
    const Parameter& of = parameter(input);
    return of.may_equal_output && (!of.is_list || input.element == output.element) &&
           input.begin == output.begin && is_identical(view(input), view(output));
  }

 private:
  const Call& call_;
  const CallAddresses& addresses_;
};

// P9, P10. Those that pass are divided into dense ones and others.
Status collect(const Operands& operands, RecycledVector<Operand>& dense, RecycledVector<Operand>& sparse) {
  Status misaligned;
  OPENACLNN_TRY(operands.for_each([&](const Operand& operand, void* data, aclDataType dtype, bool is_dense) {
    if (data == nullptr) return null_data(operands.name(operand));
    // NULL anywhere comes first.
    if (misaligned.ok() && is_misaligned(data, static_cast<int64_t>(dtype_size(dtype))))
      misaligned = misaligned_data(operands.name(operand), data, dtype);
    (is_dense ? dense : sparse).push_back(operand);
    return Status();
  }));
  return misaligned;
}

// Sorts by address, and leaves out inputs that equal an output as they may: what overlaps one overlaps the other. Numbers of
// operands are sorted instead of operands, which are several times as large.
RecycledVector<const Operand*> sorted_by_address(const Operands& operands,
                                                 const RecycledVector<Operand>& unsorted) {
  struct Place {
    uintptr_t begin;
    uint32_t number;
    uint32_t element;  // its low bits will do: they only bring equals together
  };
  RecycledVector<Place> places(unsorted.size());
  for (size_t k = 0; k < unsorted.size(); ++k) {
    places[k] = {unsorted[k].begin, static_cast<uint32_t>(k), static_cast<uint32_t>(unsorted[k].element)};
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.element < b.element;
  });
  const auto equals_output = [&](size_t k) {
    const Operand& input = unsorted[places[k].number];
    if (!operands.parameter(input).may_equal_output) return false;
    const auto equals = [&](size_t other) {
      const Operand& output = unsorted[places[other].number];
      return output.is_written && operands.is_tolerated(input, output);
    };
    const auto is_beside = [&](size_t other) {
      return places[other].begin == places[k].begin && places[other].element == places[k].element;
    };
    for (size_t other = k; other-- > 0 && is_beside(other);) {
      if (equals(other)) return true;
    }
    for (size_t other = k + 1; other < places.size() && is_beside(other); ++other) {
      if (equals(other)) return true;
    }
    return false;
  };
  RecycledVector<const Operand*> sorted;
  sorted.reserve(places.size());
  for (size_t k = 0; k < places.size(); ++k) {
    if (!equals_output(k)) sorted.push_back(&unsorted[places[k].number]);
  }
  return sorted;
}

// The first written operand that another one provably overlaps, if there is one.
class FirstOverlap {
 public:
  void add(const Operand& operand) {
    if (operand.is_written && (!found_ || operand < first_)) {
      first_ = operand;
      found_ = true;
    }
  }
  bool found() const { return found_; }
  const Operand& operand() const { return first_; }

 private:
  bool found_ = false;
  Operand first_ = {};
};

// Dense views overlap when their bytes do. In the order of their begins, one overlaps an earlier one when it begins below the
// highest end so far, and a later one when the next begins below its end.
void find_dense_overlaps(const RecycledVector<const Operand*>& sorted, FirstOverlap& first) {
  uintptr_t highest_end = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    const bool meets_earlier = sorted[k]->begin < highest_end;
    const bool meets_later = k + 1 < sorted.size() && sorted[k + 1]->begin < sorted[k]->end;
    if (meets_earlier || meets_later) first.add(*sorted[k]);
    highest_end = std::max(highest_end, sorted[k]->end);
  }
}

// Other views overlap provably only when they are identical.
void find_identical(const Operands& operands, RecycledVector<const Operand*> sparse, FirstOverlap& first) {
  const auto order = [&](const Operand* a, const Operand* b) {
    if (a->begin != b->begin) return a->begin < b->begin;
    const TensorView x = operands.view(*a), y = operands.view(*b);
    if (x.element_bytes() != y.element_bytes()) return x.element_bytes() < y.element_bytes();
    if (x.rank != y.rank) return x.rank < y.rank;
    const auto dims =
        std::lexicographical_compare_three_way(x.dims, x.dims + x.rank, y.dims, y.dims + y.rank);
    if (dims != 0) return dims < 0;
    return std::lexicographical_compare(x.strides, x.strides + x.rank, y.strides, y.strides + y.rank);
  };
  std::sort(sparse.begin(), sparse.end(), order);
  for (size_t k = 1; k < sparse.size(); ++k) {
    if (order(sparse[k - 1], sparse[k])) continue;
    first.add(*sparse[k - 1]);
    first.add(*sparse[k]);
  }
}

// P11 between tensors.
Status check_overlaps(const Operands& operands, const RecycledVector<Operand>& dense,
                      const RecycledVector<Operand>& sparse) {
  FirstOverlap first;
  find_dense_overlaps(sorted_by_address(operands, dense), first);
  find_identical(operands, sorted_by_address(operands, sparse), first);
  if (!first.found()) return {};
  // Rare: one more pass finds the partner that comes first.
  const Operand& out = first.operand();
  const TensorView out_view = operands.view(out);
  return operands.for_each([&](const Operand& other, void*, aclDataType, bool) -> Status {
    const bool is_itself = !(out < other) && !(other < out);
    if (is_itself || !provably_overlap(out_view, operands.view(other)) || operands.is_tolerated(other, out))
      return {};
    const Parameter& of = operands.parameter(other);
    return overlapping(operands.name(out), operands.name(other),
                       !of.may_equal_output ? "; they must not share memory"
                       : of.is_list         ? "; only the identical view of the same index is accepted"
                                            : "; only the identical view is accepted");
  });
}

// P11 with the workspace.
Status check_workspace(const Operands& operands, const Call& call, void* workspace) {
  if (call.workspace_bytes == 0) return {};
  const uintptr_t begin = reinterpret_cast<uintptr_t>(workspace);
  return operands.for_each([&](const Operand& operand, void*, aclDataType, bool is_dense) -> Status {
    if (!is_dense || operand.end <= begin || begin + call.workspace_bytes <= operand.begin) return {};
    return overlapping("workspace", operands.name(operand), "; they must not share memory");
  });
}

// P12.
Status check_blocks(const Operands& operands, const Call& call, void* workspace) {
  OPENACLNN_TRY(operands.for_each([&](const Operand& operand, void*, aclDataType, bool) -> Status {
    const size_t bytes = operand.end - operand.begin;
    if (inside_one_block(reinterpret_cast<const void*>(operand.begin), bytes)) return {};
    return outside_blocks(operands.name(operand), bytes);
  }));
  if (call.workspace_bytes == 0 || inside_one_block(workspace, call.workspace_bytes)) return {};
  return outside_blocks("workspace", call.workspace_bytes);
}

}  // namespace

void ListElements::resize(size_t count) {
  elements_.resize(count);
  addresses_.resize(count);
}

void ListElements::set(size_t n, const TensorView& described) {
  const size_t rank = static_cast<size_t>(described.rank);
  const bool is_empty = described.is_empty();
  // Any offset is legal in an empty view; kernels still compute a base address.
  const std::array<int64_t, 2> head = {is_empty ? 0 : described.offset, described.rank};
  const auto is_last = [&] {
    const int64_t* const last = layouts_.data() + last_layout_;
    return !layouts_.empty() && std::equal(head.begin(), head.end(), last) &&
           std::equal(described.dims, described.dims + rank, last + head.size()) &&
           std::equal(described.strides, described.strides + rank, last + head.size() + rank);
  };
  if (!is_last()) {
    last_layout_ = layouts_.size();
    layouts_.insert(layouts_.end(), head.begin(), head.end());
    layouts_.insert(layouts_.end(), described.dims, described.dims + rank);
    layouts_.insert(layouts_.end(), described.strides, described.strides + rank);
  }
  elements_[n] = {byte_range(described), static_cast<int64_t>(last_layout_), described.dtype,
                  is_dense(described), is_empty};
  addresses_[n] = described.data;
}

TensorView ListElements::view(size_t n, void* data) const {
  const int64_t* const layout = layouts_.data() + elements_[n].layout;
  TensorView view;
  view.data = data;
  view.dtype = elements_[n].dtype;
  view.offset = layout[0];
  view.rank = static_cast<int>(layout[1]);
  std::copy_n(layout + 2, view.rank, view.dims);
  std::copy_n(layout + 2 + view.rank, view.rank, view.strides);
  return view;
}

Status check_lists(const Call& call, const CallAddresses& addresses, bool strict) {
  const bool settled = addresses.lists->passed.load(std::memory_order_acquire);
  if (settled && !strict && call.workspace_bytes == 0) return {};
  const Operands operands(call, addresses);
  RecycledVector<Operand> dense, sparse;
  dense.reserve(call.elements.size() + kMaxParameters);
  OPENACLNN_TRY(collect(operands, dense, sparse));
  OPENACLNN_TRY(check_overlaps(operands, dense, sparse));
  OPENACLNN_TRY(check_workspace(operands, call, addresses.workspace));
  if (strict) OPENACLNN_TRY(check_blocks(operands, call, addresses.workspace));
  addresses.lists->passed.store(true, std::memory_order_release);
  return {};
}

std::shared_ptr<const ListIo> make_list_io(const Call& call, RecycledVector<void*> elements) {
  auto io = make_recycled<ListIo>();
  for (const Parameter& of : call.parameters) {
    if (!of.is_list || !of.is_output || !of.is_accessed) continue;
    for (size_t n = of.first_element; n < of.first_element + of.element_count; ++n) {
      const ByteRange& range = call.elements[n].range;
      if (call.elements[n].is_empty) continue;
      io->written.push_back({static_cast<const char*>(elements[n]) + range.begin,
                             static_cast<size_t>(range.end - range.begin)});
    }
  }
  io->addresses = std::move(elements);
  return io;
}

}  // namespace openaclnn
