// Checks the addresses of a call. One description of a tensor and its bytes serves single tensors and tensors of lists.
#include "runtime/addresses.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/memory.h"

namespace openaclnn {

namespace {

// A tensor that the task accesses.
struct Operand {
  int parameter;
  bool is_written;
  int64_t element;       // within the list; 0 for a single tensor
  uintptr_t begin, end;  // the bytes from its lowest to its highest element
};

// All tensors that the task accesses, in the order of the signature, lists from their first tensor on. So their addresses here
// compare as their places in the signature do.
class Operands {
 public:
  Operands(const Call& call, const CallAddresses& addresses) : call_(call), addresses_(addresses) {
    const bool is_small = call.elements.empty();  // then it needs no memory of the heap
    size_t count = 0;
    if (!is_small) many_.reserve(call.elements.size() + call.parameters.size());
    const auto append = [&](size_t k, size_t element, const void* data, const ByteRange& range) {
      const uintptr_t base = reinterpret_cast<uintptr_t>(data);
      const Operand operand = {static_cast<int>(k), call.parameters[k].is_output,
                               static_cast<int64_t>(element), base + static_cast<uintptr_t>(range.begin),
                               base + static_cast<uintptr_t>(range.end)};
      if (is_small) {
        few_[count++] = operand;
      } else {
        many_.push_back(operand);
      }
    };
    for (size_t k = 0; k < call.parameters.size(); ++k) {
      const Parameter& of = call.parameters[k];
      if (!of.is_accessed) continue;
      if (!of.is_list) append(k, 0, addresses.tensors[k], of.bytes);
      for (size_t n = 0; n < of.element_count; ++n) {
        const size_t at = of.first_element + n;
        if (!call.elements[at].is_empty)
          append(k, n, addresses.lists->addresses[at], call.elements[at].range);
      }
    }
    all_ = is_small ? std::span<const Operand>(few_.data(), count) : many_;
  }
  Operands(const Operands&) = delete;

  const Operand* begin() const { return all_.data(); }
  const Operand* end() const { return all_.data() + all_.size(); }
  size_t size() const { return all_.size(); }
  const Operand& operator[](size_t n) const { return all_[n]; }

  const Parameter& parameter(const Operand& operand) const {
    return call_.parameters[static_cast<size_t>(operand.parameter)];
  }
  std::string name(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    return of.is_list ? text(of.name, "[", operand.element, "]") : of.name;
  }
  void* data(const Operand& operand) const {
    return parameter(operand).is_list ? addresses_.lists->addresses[element(operand)]
                                      : addresses_.tensors[static_cast<size_t>(operand.parameter)];
  }
  aclDataType dtype(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    return of.is_list ? call_.elements[element(operand)].dtype : of.view.dtype;
  }
  bool is_dense(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    return of.is_list ? call_.elements[element(operand)].is_dense : openaclnn::is_dense(of.view);
  }
  TensorView view(const Operand& operand) const {
    const Parameter& of = parameter(operand);
    if (of.is_list) return call_.elements.view(element(operand), data(operand));
    TensorView view = of.view;
    view.data = data(operand);
    return view;
  }

  // An input that is the very view of an output it may equal: of lists, the output with the same index.
  bool is_tolerated(const Operand& input, const Operand& output) const {
    const Parameter& of = parameter(input);
    return of.may_equal_output && (!of.is_list || input.element == output.element) &&
           input.begin == output.begin && is_identical(view(input), view(output));
  }

 private:
  size_t element(const Operand& operand) const {
    return parameter(operand).first_element + static_cast<size_t>(operand.element);
  }

  const Call& call_;
  const CallAddresses& addresses_;
  std::array<Operand, kMaxParameters> few_;
  RecycledVector<Operand> many_;
  std::span<const Operand> all_;
};

// Ranges that share no byte belong to tensors that don't overlap: the common answer, without a look at the strides.
bool meet(uintptr_t begin, uintptr_t end, const Operand& operand) {
  return operand.begin - begin < end - begin || begin - operand.begin < operand.end - operand.begin;
}

Status overlapping(const std::string& name, const std::string& other, const char* rule) {
  return {ACLNN_ERR_PARAM_INVALID, text(name, " overlaps ", other, rule)};
}

// No address is NULL, and each is a multiple of the element size. NULL anywhere comes first.
Status require_data(const Operands& operands) {
  const Operand* misaligned = nullptr;
  for (const Operand& operand : operands) {
    const void* const data = operands.data(operand);
    if (data == nullptr) {
      return {ACLNN_ERR_PARAM_NULLPTR,
              text(operands.name(operand), " has a NULL data address; set it before phase 2")};
    }
    const size_t element_bytes = dtype_size(operands.dtype(operand));
    if (misaligned == nullptr && reinterpret_cast<uintptr_t>(data) % element_bytes != 0)
      misaligned = &operand;
  }
  if (misaligned == nullptr) return {};
  const aclDataType dtype = operands.dtype(*misaligned);
  return {
      ACLNN_ERR_PARAM_INVALID,
      text(operands.name(*misaligned), " has the data address ", address_text(operands.data(*misaligned)),
           ", which is not a multiple of ", dtype_size(dtype), " bytes, the size of ", dtype_name(dtype))};
}

// The first tensor that `out` provably overlaps, or nullptr. Outputs before it were compared with it already.
const Operand* partner_of(const Operands& operands, const Operand& out) {
  for (const Operand& other : operands) {
    if (&other == &out || (other.is_written && &other < &out) || !meet(out.begin, out.end, other)) continue;
    if (provably_overlap(operands.view(out), operands.view(other)) && !operands.is_tolerated(other, out))
      return &other;
  }
  return nullptr;
}

Status overlapping(const Operands& operands, const Operand& out, const Operand& other) {
  const Parameter& of = operands.parameter(other);
  return overlapping(operands.name(out), operands.name(other),
                     !of.may_equal_output ? "; they must not share memory"
                     : of.is_list         ? "; only the identical view of the same index is accepted"
                                          : "; only the identical view is accepted");
}

// Numbers of operands are sorted instead of operands, which are several times as large.
struct Place {
  uintptr_t begin;
  uint32_t number;
  uint32_t element;  // its low bits will do: they only bring equals together
};
using Places = RecycledVector<Place>;
using SortedOperands = RecycledVector<const Operand*>;

// Sorts by address. Leaves out inputs that equal an output as they may: what overlaps one overlaps the other.
SortedOperands sorted_by_address(const Operands& operands, Places places) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.element < b.element;
  });
  const auto equals_output = [&](size_t k) {
    const Operand& input = operands[places[k].number];
    if (!operands.parameter(input).may_equal_output) return false;
    const auto equals = [&](size_t other) {
      const Operand& output = operands[places[other].number];
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
  SortedOperands sorted;
  sorted.reserve(places.size());
  for (size_t k = 0; k < places.size(); ++k) {
    if (!equals_output(k)) sorted.push_back(&operands[places[k].number]);
  }
  return sorted;
}

// Keeps the first written operand of those that it is given.
class FirstOverlap {
 public:
  void add(const Operand* operand) {
    if (operand->is_written && (first_ == nullptr || operand < first_)) first_ = operand;
  }
  const Operand* operand() const { return first_; }

 private:
  const Operand* first_ = nullptr;
};

// Dense views overlap when their bytes do. In the order of their begins, one overlaps an earlier one when it begins below the
// highest end so far, and a later one when the next begins below its end.
void find_dense_overlaps(const SortedOperands& sorted, FirstOverlap& first) {
  uintptr_t highest_end = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    const bool meets_earlier = sorted[k]->begin < highest_end;
    const bool meets_later = k + 1 < sorted.size() && sorted[k + 1]->begin < sorted[k]->end;
    if (meets_earlier || meets_later) first.add(sorted[k]);
    highest_end = std::max(highest_end, sorted[k]->end);
  }
}

// Other views overlap provably only when they are identical.
void find_identical(const Operands& operands, SortedOperands sparse, FirstOverlap& first) {
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
    first.add(sparse[k - 1]);
    first.add(sparse[k]);
  }
}

// The first written operand that another one provably overlaps, or nullptr.
const Operand* first_overlap(const Operands& operands) {
  Places dense, sparse;
  dense.reserve(operands.size());
  for (const Operand& operand : operands) {
    const auto number = static_cast<uint32_t>(&operand - operands.begin());
    (operands.is_dense(operand) ? dense : sparse)
        .push_back({operand.begin, number, static_cast<uint32_t>(operand.element)});
  }
  FirstOverlap first;
  find_dense_overlaps(sorted_by_address(operands, std::move(dense)), first);
  find_identical(operands, sorted_by_address(operands, std::move(sparse)), first);
  return first.operand();
}

// No output provably overlaps another tensor. Few tensors are compared each with each; sorting finds in n log n whether any of
// the thousands in lists overlap, and then the first that does is compared with all.
Status require_no_overlap(const Operands& operands, bool has_lists) {
  if (has_lists) {
    const Operand* const out = first_overlap(operands);
    const Operand* const other = out != nullptr ? partner_of(operands, *out) : nullptr;
    return other != nullptr ? overlapping(operands, *out, *other) : Status();
  }
  for (const Operand& out : operands) {
    if (!out.is_written) continue;
    if (const Operand* const other = partner_of(operands, out)) return overlapping(operands, out, *other);
  }
  return {};
}

// No tensor provably overlaps the workspace.
Status require_own_workspace(const Operands& operands, uint64_t bytes, const void* workspace) {
  if (bytes == 0) return {};
  const uintptr_t begin = reinterpret_cast<uintptr_t>(workspace);
  for (const Operand& operand : operands) {
    if (operand.begin != operand.end && meet(begin, begin + bytes, operand) && operands.is_dense(operand))
      return overlapping("workspace", operands.name(operand), "; they must not share memory");
  }
  return {};
}

// Strict mode: all bytes lie inside live blocks of this library.
Status require_known_memory(const Operands& operands, uint64_t workspace_bytes, const void* workspace) {
  const auto outside = [](const std::string& name, uint64_t bytes) -> Status {
    return {ACLNN_ERR_PARAM_INVALID,
            text(name, " needs ", bytes, " bytes that do not lie inside one live block of aclrtMalloc or ",
                 "aclrtMallocHost; strict mode accepts no other memory")};
  };
  for (const Operand& operand : operands) {
    const size_t bytes = operand.end - operand.begin;
    if (bytes > 0 && !inside_one_block(reinterpret_cast<const void*>(operand.begin), bytes))
      return outside(operands.name(operand), bytes);
  }
  if (workspace_bytes == 0 || inside_one_block(workspace, workspace_bytes)) return {};
  return outside("workspace", workspace_bytes);
}

}  // namespace

MemoryRange memory_at(const void* data, const ByteRange& bytes) {
  return {static_cast<const char*>(data) + bytes.begin, static_cast<size_t>(bytes.end - bytes.begin)};
}

Status check_addresses(const Call& call, const CallAddresses& addresses, bool strict) {
  const ListIo* const lists = addresses.lists;
  const bool passed = lists != nullptr && lists->passed.load(std::memory_order_acquire);
  if (passed && !strict && call.workspace_bytes == 0) return {};
  const Operands operands(call, addresses);
  OPENACLNN_TRY(require_data(operands));
  OPENACLNN_TRY(require_no_overlap(operands, lists != nullptr));
  OPENACLNN_TRY(require_own_workspace(operands, call.workspace_bytes, addresses.workspace));
  if (strict) OPENACLNN_TRY(require_known_memory(operands, call.workspace_bytes, addresses.workspace));
  if (lists != nullptr) lists->passed.store(true, std::memory_order_release);
  return {};
}

std::shared_ptr<const ListIo> make_list_io(const Call& call, RecycledVector<void*> elements) {
  auto io = make_recycled<ListIo>();
  for (const Parameter& of : call.parameters) {
    if (!of.is_list || !of.is_output || !of.is_accessed) continue;
    for (size_t n = of.first_element; n < of.first_element + of.element_count; ++n) {
      if (!call.elements[n].is_empty) io->written.push_back(memory_at(elements[n], call.elements[n].range));
    }
  }
  io->addresses = std::move(elements);
  return io;
}

}  // namespace openaclnn
