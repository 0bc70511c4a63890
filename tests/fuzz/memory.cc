// Blocks of memory, and numbers at the borders of arithmetic.
#include "fuzz/memory.h"

#include <algorithm>
#include <iterator>

#include "acl/acl.h"
#include "fuzz/found.h"
#include "support/verify.h"
#include "verify/number.h"

// Present in programs with AddressSanitizer only.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* address, size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* address, size_t size);
}

namespace openaclnn_test {

namespace {

constexpr size_t kBlocks = 24;
constexpr int64_t kBlockBytes = 65536;

void forbid(const void* address, size_t bytes) {
  if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(address, bytes);
}
void allow(const void* address, size_t bytes) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(address, bytes);
}

// Lowest and highest element of a view, relative to its data address.
std::pair<int64_t, int64_t> reach_of(const Shape& dims, const View& view) {
  int64_t lowest = view.offset, highest = view.offset;
  for (size_t k = 0; k < dims.size(); ++k)
    (view.strides[k] < 0 ? lowest : highest) += (dims[k] - 1) * view.strides[k];
  return {lowest, highest};
}

// Bits of the numbers at which each format changes its behaviour.
std::span<const uint32_t> special_bits(aclDataType dtype) {
  static constexpr uint32_t kFloat[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                        0xFFC00001, 0x7F800001, 1,          0x80000001, 0x007FFFFF,
                                        0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000,
                                        0x5F000000, 0x20000000, 0x3F800001};
  static constexpr uint32_t kFloat16[] = {0,      0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01, 1,
                                          0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00, 0x3C01};
  static constexpr uint32_t kBf16[] = {0,      0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 1,
                                       0x8001, 0x007F, 0x0080, 0x7F7F, 0xFF7F, 0x3F80, 0xBF80, 0x3F81};
  if (dtype == ACL_FLOAT16) return kFloat16;
  if (dtype == ACL_BF16) return kBf16;
  return kFloat;
}

// A number of ordinary size: sign and fraction are random, the exponent is near that of 1.
uint64_t ordinary_bits(aclDataType dtype, uint64_t random) {
  const uint64_t sign = random >> 63;
  const uint64_t step = (random >> 48) % 8;
  if (dtype == ACL_FLOAT16) return sign << 15 | (11 + step) << 10 | (random & 0x3FF);
  if (dtype == ACL_BF16) return sign << 15 | (123 + step) << 7 | (random & 0x7F);
  return sign << 31 | (123 + step) << 23 | (random & 0x7FFFFF);
}

}  // namespace

Memory::Memory() {
  for (size_t k = 0; k < kBlocks; ++k) {
    HostTensor memory(ACL_UINT8, {kBlockBytes}, Layout::contiguous, Placement::library);
    auto* const begin = static_cast<std::byte*>(memory.data());
    forbid(begin, kBlockBytes);
    blocks_.push_back({std::move(memory), begin, begin});
  }
}

void Memory::reset() {
  for (; taken_ > 0; --taken_) {
    Block& block = blocks_[taken_ - 1];
    forbid(block.used_begin, static_cast<size_t>(block.used_end - block.used_begin));
  }
  if (workspace_ != nullptr) forbid(workspace_, workspace_allowed_);
  workspace_allowed_ = 0;
}

FuzzTensor Memory::tensor(Input& in, Role role, aclDataType dtype, const Shape& dims) {
  const uint8_t choice = in.byte();
  const int64_t bytes = element_bytes(dtype);
  const int64_t numel = count_elements(dims);
  const Layout layout = choice < 128          ? Layout::contiguous
                        : role == Role::input ? kInputLayouts[choice % std::size(kInputLayouts)]
                                              : kOutputLayouts[choice % std::size(kOutputLayouts)];
  View view = make_view(layout, dims);
  auto [lowest, highest] = numel == 0 ? std::pair<int64_t, int64_t>{0, -1} : reach_of(dims, view);
  if ((highest - lowest + 1) * bytes > kBlockBytes / 2)
    found("a fuzz target makes tensors that its memory cannot hold");
  Block& block = blocks_[taken_++];
  // Aligned only to one element.
  auto* const first = static_cast<std::byte*>(block.memory.data()) + 64 + choice % 16 * bytes;
  auto* const data = reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(first) -
                                                  static_cast<uintptr_t>(lowest * bytes));
  block.used_begin = first;
  block.used_end = first + (highest - lowest + 1) * bytes;
  const bool is_plain = layout == Layout::contiguous;
  FuzzTensor made = {HostTensor(dtype, dims, std::move(view), block.memory, data), role,
                     !is_plain || (choice & 64) != 0};
  if (is_plain) {
    allow(first, static_cast<size_t>(numel * bytes));
  } else {
    for (int64_t i = 0; i < numel; ++i) allow(made.host.element(i), static_cast<size_t>(bytes));
  }
  return made;
}

void* Memory::workspace(uint64_t bytes) {
  if (bytes > workspace_bytes_) {
    allow(workspace_, workspace_bytes_);
    if (workspace_ != nullptr) aclrtFree(workspace_);
    workspace_bytes_ = 2 * bytes;
    void* made = nullptr;
    require(aclrtMalloc(&made, workspace_bytes_, ACL_MEM_MALLOC_HUGE_FIRST) == 0,
            "no memory for a workspace");
    workspace_ = static_cast<std::byte*>(made);
    forbid(workspace_, workspace_bytes_);
  }
  workspace_allowed_ = bytes;
  allow(workspace_, bytes);
  return bytes == 0 ? nullptr : workspace_;
}

void fill(const HostTensor& tensor, FuzzData data, Random& random) {
  HostTensor writable = tensor.alias();
  const aclDataType dtype = tensor.dtype();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const uint64_t bits = random.bits();
    if (data == FuzzData::ordinary || (data == FuzzData::special && bits % 3 == 0)) {
      writable.set_bits(i, ordinary_bits(dtype, bits));
    } else if (data == FuzzData::special) {
      const std::span<const uint32_t> special = special_bits(dtype);
      writable.set_bits(i, special[(bits >> 32) % special.size()]);
    } else {
      writable.set_bits(i, bits);
    }
  }
}

int64_t index_near(int64_t limit, int64_t hostile, Random& random) {
  const uint64_t bits = random.bits();
  if (limit > 0 && static_cast<int64_t>(bits % 4) >= hostile)
    return static_cast<int64_t>((bits >> 8) % static_cast<uint64_t>(limit));
  const int64_t wrong[] = {
      -1,        limit,     limit + 1,        INT64_MIN,           INT64_MAX,
      INT32_MIN, INT32_MAX, int64_t{1} << 32, -(int64_t{1} << 32), static_cast<int64_t>(bits)};
  return wrong[(bits >> 8) % std::size(wrong)];
}

}  // namespace openaclnn_test
