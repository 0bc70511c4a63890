// Memory that detects every access outside it: guard pages on both sides, and canary bytes in the rest of the
// pages between them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "verify/device_twin.h"

namespace openaclnn_verify {

// Which end of the data is next to a guard page. `library`: memory of aclrtMalloc, for modes that accept no
// other. `sparse`: like ends_at_guard, but with zeros instead of canaries, for spans of gigabytes: pages use
// no memory until they are written. `off_a_line`: ends 8 bytes before the page, so that data the size of
// whole cache lines starts inside one.
enum class Placement { ends_at_guard, starts_at_guard, library, sparse, off_a_line };

class GuardedBuffer {
 public:
  static constexpr unsigned char kCanary = 0xA5;

  // If OPENACLNN_TEST_PLACEMENT=library is set, uses Placement::library for all but sparse memory.
  explicit GuardedBuffer(size_t bytes, Placement placement = Placement::ends_at_guard);
  ~GuardedBuffer();
  // Keeps small mappings for later buffers of their size, for programs that create millions of them on one
  // thread. Accesses outside buffers are still detected; accesses to destroyed buffers are not.
  static void keep_mappings();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // `bytes` bytes, initially all kCanary (sparse: 0).
  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

  // Returns the library's address for this address, inside the data or not: the same, or in the buffer's twin
  // on the device.
  void* address_for_library(const void* address) const;

  // Returns false if a byte of the pages outside the data has changed. Always true for library and sparse
  // memory.
  bool margins_intact() const;
  // Returns whether every byte is kCanary, as in a buffer that nothing has written.
  static bool all_canaries(std::span<const std::byte> bytes);

 private:
  GuardedBuffer(Placement placement, size_t bytes);

  size_t bytes_;
  bool mapped_;
  bool has_canaries_;
  std::byte* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  mutable std::unique_ptr<DeviceTwin> twin_;  // created at first use
};

}  // namespace openaclnn_verify
