// Checks the addresses of a call. Single tensors and tensors of lists share one description.
#include "runtime/addresses.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/memory.h"

namespace openaclnn {

namespace {

// A tensor that the task accesses.
struct AccessedTensor {
  int parameter;
  bool is_written;
  int64_t element;       // index within the list; 0 for a single tensor
  uintptr_t begin, end;  // the bytes from its lowest to its highest element
};

// Calls visit(AccessedTensor, address, dtype) for all tensors that the task accesses, in the order of the
// signature; a list contributes its tensors in order.
template <class Visit>
void for_each_accessed(const Call& call, const CallAddresses& addresses, const Visit& visit) {
  const auto visit_at = [&](size_t k, size_t element, const void* data, aclDataType dtype,
                            const ByteRange& range) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(data);
    visit(
        AccessedTensor{static_cast<int>(k), call.parameters[k].is_output, static_cast<int64_t>(element),
                       base + static_cast<uintptr_t>(range.begin), base + static_cast<uintptr_t>(range.end)},
        data, dtype);
  };
  for (size_t k = 0; k < call.parameters.size(); ++k) {
    const Parameter& of = call.parameters[k];
    if (!of.is_accessed) continue;
    if (!of.is_list) visit_at(k, 0, addresses.tensors[k], of.view.dtype, of.bytes);
    for (size_t n = 0; n < of.element_count; ++n) {
      const size_t at = of.first_element + n;
      const ListElement& listed = call.elements[at];
      if (!listed.is_empty) visit_at(k, n, addresses.lists->addresses[at], listed.dtype, listed.range);
    }
  }
}

// All tensors that the task accesses, in the order of the signature; a list contributes its tensors in order.
// Comparing two of their addresses in this array therefore compares their positions in the signature.
class AccessedTensors {
 public:
  AccessedTensors(const Call& call, const CallAddresses& addresses) : call_(call), addresses_(addresses) {
    const bool is_small = call.elements.empty();  // if so, no heap memory is needed
    size_t count = 0;
    if (!is_small) many_.reserve(call.elements.size() + call.parameters.size());
    for_each_accessed(call, addresses, [&](const AccessedTensor& tensor, const void*, aclDataType) {
      if (is_small) {
        few_[count++] = tensor;
      } else {
        many_.push_back(tensor);
      }
    });
    all_ = is_small ? std::span<const AccessedTensor>(few_.data(), count) : many_;
  }
  AccessedTensors(const AccessedTensors&) = delete;

  const AccessedTensor* begin() const { return all_.data(); }
  const AccessedTensor* end() const { return all_.data() + all_.size(); }
  size_t size() const { return all_.size(); }
  const AccessedTensor& operator[](size_t n) const { return all_[n]; }

  const Parameter& parameter(const AccessedTensor& tensor) const {
    return call_.parameters[static_cast<size_t>(tensor.parameter)];
  }
  std::string name(const AccessedTensor& tensor) const {
    const Parameter& of = parameter(tensor);
    return of.is_list ? text(of.name, "[", tensor.element, "]") : of.name;
  }
  void* data(const AccessedTensor& tensor) const {
    return parameter(tensor).is_list ? addresses_.lists->addresses[element(tensor)]
                                     : addresses_.tensors[static_cast<size_t>(tensor.parameter)];
  }
  aclDataType dtype(const AccessedTensor& tensor) const {
    const Parameter& of = parameter(tensor);
    return of.is_list ? call_.elements[element(tensor)].dtype : of.view.dtype;
  }
  bool is_dense(const AccessedTensor& tensor) const {
    const Parameter& of = parameter(tensor);
    return of.is_list ? call_.elements[element(tensor)].is_dense : openaclnn::is_dense(of.view);
  }
  TensorView view(const AccessedTensor& tensor) const {
    const Parameter& of = parameter(tensor);
    if (of.is_list) return call_.elements.view(element(tensor), data(tensor));
    TensorView view = of.view;
    view.data = data(tensor);
    return view;
  }

  // Returns whether an input is the same view as an output that it may equal. For lists this is the output
  // with the same index.
  bool is_tolerated(const AccessedTensor& input, const AccessedTensor& output) const {
    const Parameter& of = parameter(input);
    return of.may_equal_output && (!of.is_list || input.element == output.element) &&
           input.begin == output.begin && is_identical(view(input), view(output));
  }

 private:
  size_t element(const AccessedTensor& tensor) const {
    return parameter(tensor).first_element + static_cast<size_t>(tensor.element);
  }

  const Call& call_;
  const CallAddresses& addresses_;
  std::array<AccessedTensor, kMaxParameters> few_;
  RecycledVector<AccessedTensor> many_;
  std::span<const AccessedTensor> all_;
};

// Returns whether byte ranges intersect. Most tensors do not overlap, and this test shows it without reading
// their strides.
bool meet(uintptr_t begin, uintptr_t end, const AccessedTensor& tensor) {
  return tensor.begin - begin < end - begin || begin - tensor.begin < tensor.end - tensor.begin;
}

Status overlapping(const std::string& name, const std::string& other, const char* rule) {
  return {ACLNN_ERR_PARAM_INVALID, text(name, " overlaps ", other, rule)};
}

// Checks that no address is NULL and each is a multiple of the element size. A NULL anywhere is reported
// first.
Status require_data(const AccessedTensors& tensors) {
  const AccessedTensor* misaligned = nullptr;
  for (const AccessedTensor& tensor : tensors) {
    const void* const data = tensors.data(tensor);
    if (data == nullptr) {
      return {ACLNN_ERR_PARAM_NULLPTR,
              text(tensors.name(tensor), " has a NULL data address; set it before phase 2")};
    }
    const size_t element_bytes = dtype_size(tensors.dtype(tensor));
    if (misaligned == nullptr && reinterpret_cast<uintptr_t>(data) % element_bytes != 0) misaligned = &tensor;
  }
  if (misaligned == nullptr) return {};
  const aclDataType dtype = tensors.dtype(*misaligned);
  return {
      ACLNN_ERR_PARAM_INVALID,
      text(tensors.name(*misaligned), " has the data address ", address_text(tensors.data(*misaligned)),
           ", which is not a multiple of ", dtype_size(dtype), " bytes, the size of ", dtype_name(dtype))};
}

// Returns the first tensor that `out` provably overlaps, or nullptr. Skips earlier outputs, which were
// already compared with it.
const AccessedTensor* partner_of(const AccessedTensors& tensors, const AccessedTensor& out) {
  for (const AccessedTensor& other : tensors) {
    if (&other == &out || (other.is_written && &other < &out) || !meet(out.begin, out.end, other)) continue;
    if (provably_overlap(tensors.view(out), tensors.view(other)) && !tensors.is_tolerated(other, out))
      return &other;
  }
  return nullptr;
}

Status overlapping(const AccessedTensors& tensors, const AccessedTensor& out, const AccessedTensor& other) {
  const Parameter& of = tensors.parameter(other);
  return overlapping(tensors.name(out), tensors.name(other),
                     !of.may_equal_output ? "; they must not share memory"
                     : of.is_list         ? "; only the identical view of the same index is accepted"
                                          : "; only the identical view is accepted");
}

// Sorting keys with tensor numbers is cheaper than sorting tensors, which are several times as large.
struct SortKey {
  uintptr_t begin;
  uint32_t number;
  uint32_t element;  // the low bits suffice: they only make equal tensors adjacent
};
using SortKeys = RecycledVector<SortKey>;
using SortedTensors = RecycledVector<const AccessedTensor*>;

// Sorts by address. Omits inputs that are allowed to equal an output: any tensor that overlaps one also
// overlaps the other.
SortedTensors sorted_by_address(const AccessedTensors& tensors, SortKeys keys) {
  std::sort(keys.begin(), keys.end(), [](const SortKey& a, const SortKey& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.element < b.element;
  });
  const auto equals_output = [&](size_t k) {
    const AccessedTensor& input = tensors[keys[k].number];
    if (!tensors.parameter(input).may_equal_output) return false;
    const auto equals = [&](size_t other) {
      const AccessedTensor& output = tensors[keys[other].number];
      return output.is_written && tensors.is_tolerated(input, output);
    };
    const auto is_beside = [&](size_t other) {
      return keys[other].begin == keys[k].begin && keys[other].element == keys[k].element;
    };
    for (size_t other = k; other-- > 0 && is_beside(other);) {
      if (equals(other)) return true;
    }
    for (size_t other = k + 1; other < keys.size() && is_beside(other); ++other) {
      if (equals(other)) return true;
    }
    return false;
  };
  SortedTensors sorted;
  sorted.reserve(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    if (!equals_output(k)) sorted.push_back(&tensors[keys[k].number]);
  }
  return sorted;
}

// Keeps the first written tensor of all added ones.
class FirstOverlap {
 public:
  void add(const AccessedTensor* tensor) {
    if (tensor->is_written && (first_ == nullptr || tensor < first_)) first_ = tensor;
  }
  const AccessedTensor* tensor() const { return first_; }

 private:
  const AccessedTensor* first_ = nullptr;
};

// Dense views overlap if their bytes do. In ascending order of their first byte, a view overlaps an earlier
// one if it begins below the highest end so far. It overlaps a later one if the next view begins below its
// end.
void find_dense_overlaps(const SortedTensors& sorted, FirstOverlap& first) {
  uintptr_t highest_end = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    const bool meets_earlier = sorted[k]->begin < highest_end;
    const bool meets_later = k + 1 < sorted.size() && sorted[k + 1]->begin < sorted[k]->end;
    if (meets_earlier || meets_later) first.add(sorted[k]);
    highest_end = std::max(highest_end, sorted[k]->end);
  }
}

// Views that are not dense overlap provably only if they have the same places.
void find_same_places(const AccessedTensors& tensors, SortedTensors sparse, FirstOverlap& first) {
  const auto order = [&](const AccessedTensor* a, const AccessedTensor* b) {
    const TensorView x = tensors.view(*a), y = tensors.view(*b);
    if (base_address(x) != base_address(y)) return base_address(x) < base_address(y);
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

// Returns the first written tensor that another tensor provably overlaps, or nullptr.
const AccessedTensor* first_overlap(const AccessedTensors& tensors) {
  SortKeys dense, sparse;
  dense.reserve(tensors.size());
  for (const AccessedTensor& tensor : tensors) {
    const auto number = static_cast<uint32_t>(&tensor - tensors.begin());
    (tensors.is_dense(tensor) ? dense : sparse)
        .push_back({tensor.begin, number, static_cast<uint32_t>(tensor.element)});
  }
  FirstOverlap first;
  find_dense_overlaps(sorted_by_address(tensors, std::move(dense)), first);
  find_same_places(tensors, sorted_by_address(tensors, std::move(sparse)), first);
  return first.tensor();
}

// Checks that no output provably overlaps another tensor. Single tensors are few and compared pairwise. Lists
// may have thousands: sorting finds the first overlapping output in O(n log n), and only this one is compared
// with all.
Status require_no_overlap(const AccessedTensors& tensors, bool has_lists) {
  if (has_lists) {
    const AccessedTensor* const out = first_overlap(tensors);
    const AccessedTensor* const other = out != nullptr ? partner_of(tensors, *out) : nullptr;
    return other != nullptr ? overlapping(tensors, *out, *other) : Status();
  }
  for (const AccessedTensor& out : tensors) {
    if (!out.is_written) continue;
    if (const AccessedTensor* const other = partner_of(tensors, out))
      return overlapping(tensors, out, *other);
  }
  return {};
}

struct AddressRange {
  uintptr_t begin, end;
};

bool are_disjoint(RecycledVector<AddressRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  for (size_t k = 1; k < ranges.size(); ++k) {
    if (ranges[k].begin < ranges[k - 1].end) return false;
  }
  return true;
}

// Returns true if no address is NULL or misaligned and no byte range meets another. Then no tensor overlaps
// another, whatever their strides. Nearly all calls are like this. The checks that find the first mistake took
// several times as long as the rest of phase 2.
//
// Programs mostly allocate the tensors of a list one after the other. Tensors in ascending order are therefore
// first taken as one range, with the gaps between them. Only if such ranges meet are all tensors sorted.
bool are_sound(const Call& call, const CallAddresses& addresses) {
  RecycledVector<AddressRange> ranges;
  ranges.reserve(kMaxParameters);
  bool is_sound = true;
  for_each_accessed(call, addresses, [&](const AccessedTensor& tensor, const void* data, aclDataType dtype) {
    const bool is_aligned = (reinterpret_cast<uintptr_t>(data) & (dtype_size(dtype) - 1)) == 0;
    is_sound = is_sound && data != nullptr && is_aligned && tensor.begin <= tensor.end;
    if (!ranges.empty() && ranges.back().end <= tensor.begin) {
      ranges.back().end = tensor.end;
    } else {
      ranges.push_back({tensor.begin, tensor.end});
    }
  });
  if (!is_sound) return false;
  if (are_disjoint(ranges)) return true;
  ranges.clear();
  for_each_accessed(call, addresses, [&](const AccessedTensor& tensor, const void*, aclDataType) {
    ranges.push_back({tensor.begin, tensor.end});
  });
  return are_disjoint(ranges);
}

// Checks that no tensor provably overlaps the workspace, and no output at all: kernels keep checked numbers there.
Status require_own_workspace(const AccessedTensors& tensors, uint64_t bytes, const void* workspace) {
  if (bytes == 0) return {};
  const uintptr_t begin = reinterpret_cast<uintptr_t>(workspace), end = begin + bytes;
  for (const AccessedTensor& tensor : tensors) {
    if (tensor.begin == tensor.end || !meet(begin, end, tensor)) continue;
    if (tensor.is_written ? has_element_in(tensors.view(tensor), begin, end) : tensors.is_dense(tensor))
      return overlapping("workspace", tensors.name(tensor), "; they must not share memory");
  }
  return {};
}

// Strict mode: checks that all bytes are inside live blocks of this library.
Status require_known_memory(const AccessedTensors& tensors, uint64_t workspace_bytes, const void* workspace) {
  const auto check = [](const auto& name, const void* begin, uint64_t bytes) -> Status {
    const std::optional<size_t> left = bytes_to_end_of_block(begin);
    if (bytes == 0 || (left && bytes <= *left)) return {};
    const std::string needs = text(name(), " needs ", bytes, " bytes from ", address_text(begin));
    if (left) return {ACLNN_ERR_PARAM_INVALID, text(needs, " but its block ends after ", *left)};
    return {
        ACLNN_ERR_PARAM_INVALID,
        text(needs,
             ", where no live block of aclrtMalloc or aclrtMallocHost is: it was freed, or is other memory; ",
             "strict mode does not accept it")};
  };
  for (const AccessedTensor& tensor : tensors) {
    OPENACLNN_TRY(check([&] { return tensors.name(tensor); }, reinterpret_cast<const void*>(tensor.begin),
                        tensor.end - tensor.begin));
  }
  return check([] { return "workspace"; }, workspace, workspace_bytes);
}

}  // namespace

Status check_addresses(const Call& call, const CallAddresses& addresses, bool strict) {
  const ListIo* const lists = addresses.lists;
  const bool passed = lists != nullptr && lists->passed.load(std::memory_order_acquire);
  if (passed && !strict && call.workspace_bytes == 0) return {};
  const bool is_sound = are_sound(call, addresses);
  if (!is_sound || call.workspace_bytes > 0 || strict) {
    const AccessedTensors tensors(call, addresses);
    if (!is_sound) {
      OPENACLNN_TRY(require_data(tensors));
      OPENACLNN_TRY(require_no_overlap(tensors, lists != nullptr));
    }
    OPENACLNN_TRY(require_own_workspace(tensors, call.workspace_bytes, addresses.workspace));
    if (strict) OPENACLNN_TRY(require_known_memory(tensors, call.workspace_bytes, addresses.workspace));
  }
  if (lists != nullptr) lists->passed.store(true, std::memory_order_release);
  return {};
}

}  // namespace openaclnn
