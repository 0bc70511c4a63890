// Memory that shows every access outside it: pages without any access rights on both sides, and canary bytes in the rest of
// the pages in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "verify/device_twin.h"

namespace openaclnn_verify {

// Which end of the data touches a forbidden page. `library`: memory of aclrtMalloc, for modes that accept no other. `sparse`: as
// ends_at_guard, but zeros instead of canaries, which cost no memory until they are written: for spans of gigabytes. `off_a_line`:
// ends 8 bytes before the page, so that what has the size of whole cache lines begins in the middle of one.
enum class Placement { ends_at_guard, starts_at_guard, library, sparse, off_a_line };

class GuardedBuffer {
 public:
  static constexpr unsigned char kCanary = 0xA5;

  // Placement::library in any case, except for sparse memory, where the environment says OPENACLNN_TEST_PLACEMENT=library.
  explicit GuardedBuffer(size_t bytes, Placement placement = Placement::ends_at_guard);
  ~GuardedBuffer();
  // From now on small mappings are kept for later buffers of their size, for programs that make millions of them on one thread:
  // accesses outside are found as before, those to a buffer that is gone are not.
  static void keep_mappings();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // `bytes` bytes, all kCanary at first (sparse: 0).
  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

  // Where the library finds what lies at this address, in the data or not: there, or in the buffer's twin on the device.
  void* address_for_library(const void* address) const;

  // False when a byte of the pages outside the data has changed. Library and sparse memory cannot tell.
  bool margins_intact() const;

 private:
  GuardedBuffer(Placement placement, size_t bytes);

  size_t bytes_;
  bool mapped_;
  bool has_canaries_;
  std::byte* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  mutable std::unique_ptr<DeviceTwin> twin_;  // made when it is first asked for
};

}  // namespace openaclnn_verify
