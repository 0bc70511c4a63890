// Slabs: 64 KiB of an arena, divided into blocks of one size, for blocks of at most 8 KiB.
#pragma once

#include <array>
#include <cstdint>
#include <list>

#include "cpu/arenas.h"

namespace openaclnn::cpu {

inline constexpr size_t kLargestSmall = 8192;
inline constexpr size_t kSmallUnit = 64;
inline constexpr size_t kSlabBytes = size_t{64} << 10;  // at least a page on every system

// Returns the size used for a block of `bytes`: multiples of 64; above 1 KiB eight sizes per power of two,
// which waste at most an eighth.
size_t small_bytes(size_t bytes);

// All functions require the pool's lock.
class Slabs {
 public:
  explicit Slabs(Arenas& arenas) : arenas_(arenas) {}

  // Returns nullptr if the arenas have no free pages. May throw std::bad_alloc, which leaves the object
  // unchanged.
  void* take(size_t bytes);
  void put_back(void* address) noexcept;
  // Returns slabs without a block in use to the arenas. One of each size otherwise stays.
  void put_back_unused() noexcept;

 private:
  struct Slab {
    char* begin = nullptr;
    size_t block_bytes = 0;
    size_t blocks = 0;
    size_t free_blocks = 0;
    std::array<uint64_t, kSlabBytes / kSmallUnit / 64> free = {};  // 1: the block is free
    std::list<Slab>::iterator entry;
  };
  struct Size {
    std::list<Slab> open;  // slabs with a free block
    std::list<Slab> full;
  };

  Size& size_of(size_t block_bytes) { return sizes_[block_bytes / kSmallUnit - 1]; }
  bool open_slab(Size& size, size_t block_bytes);
  void close_slab(Size& size, Slab& slab) noexcept;

  Arenas& arenas_;
  std::array<Size, kLargestSmall / kSmallUnit> sizes_;
};

}  // namespace openaclnn::cpu
