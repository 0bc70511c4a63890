// The memory that kernels access, with the checks of a GPU's sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace openaclnn::ptx {

// Ranges of global memory. The addresses are those of the host.
class AddressMap {
 public:
  struct Range {
    uint64_t begin;
    uint64_t bytes;
  };
  explicit AddressMap(std::vector<Range> ranges);

  bool holds(uint64_t address, uint64_t bytes) const {
    const auto is_in = [&](const Range& range) {
      return address - range.begin < range.bytes && range.bytes - (address - range.begin) >= bytes;
    };
    return is_in(latest_) || (find(address) && is_in(latest_));
  }

 private:
  bool find(uint64_t address) const;

  std::vector<Range> ranges_;
  mutable Range latest_ = {0, 0};
};

enum class Touch : uint8_t { read, write, atomic };

// A thread of the block, and the numbers of barriers of the block and of its warp that it had passed.
struct Moment {
  uint16_t thread = 0;
  uint16_t warp = 0;
  uint32_t block_time = 0, warp_time = 0;
};

// The shared memory of a block. It records which thread accessed each byte, to report two accesses that no
// barrier orders, and reads of uninitialised bytes.
class SharedMemory {
 public:
  void begin_block(size_t bytes);

  size_t bytes() const { return memory_.size(); }
  std::byte* at(uint64_t offset) { return memory_.data() + offset; }

  // Returns nullptr, or the error of an access inside the memory.
  const char* touch(uint64_t offset, size_t bytes, Touch kind, const Moment& now);

 private:
  struct Record {
    Moment when;
    bool is_there = false;
    bool is_atomic = false;
    bool has_others = false;  // several threads of the warp accessed it since its last barrier
    bool has_other_warps = false;
  };
  struct Byte {
    Record write, read;
  };
  static bool is_ordered(const Record& before, const Moment& now);

  std::vector<std::byte> memory_;
  std::vector<Byte> bytes_;
};

}  // namespace openaclnn::ptx
