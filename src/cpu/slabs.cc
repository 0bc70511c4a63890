// Slabs: one bit per block records whether it is free. The bits are separate from the memory, so that writes
// to freed memory cannot corrupt them.
#include "cpu/slabs.h"

#include <algorithm>
#include <bit>

namespace openaclnn::cpu {

size_t small_bytes(size_t bytes) {
  const size_t step = std::max(std::bit_floor(bytes - 1) / 8, kSmallUnit);
  return rounded_up(bytes, step);
}

void* Slabs::take(size_t bytes) {
  const size_t block_bytes = small_bytes(bytes);
  Size& size = size_of(block_bytes);
  if (size.open.empty() && !open_slab(size, block_bytes)) return nullptr;
  Slab& slab = size.open.front();
  const auto word = std::ranges::find_if(slab.free, [](uint64_t bits) { return bits != 0; });
  const size_t block =
      static_cast<size_t>(word - slab.free.begin()) * 64 + static_cast<size_t>(std::countr_zero(*word));
  *word &= *word - 1;
  if (--slab.free_blocks == 0) size.full.splice(size.full.end(), size.open, slab.entry);
  return slab.begin + block * block_bytes;
}

void Slabs::put_back(void* address) noexcept {
  Slab& slab = *static_cast<Slab*>(arenas_.note_at(address));
  Size& size = size_of(slab.block_bytes);
  const size_t block = static_cast<size_t>(static_cast<char*>(address) - slab.begin) / slab.block_bytes;
  slab.free[block / 64] |= uint64_t{1} << block % 64;
  if (slab.free_blocks++ == 0) size.open.splice(size.open.begin(), size.full, slab.entry);
  if (slab.free_blocks == slab.blocks && size.open.size() > 1) close_slab(size, slab);
}

void Slabs::put_back_unused() noexcept {
  for (Size& size : sizes_) {
    for (auto slab = size.open.begin(); slab != size.open.end();) {
      Slab& candidate = *slab++;
      if (candidate.free_blocks == candidate.blocks) close_slab(size, candidate);
    }
  }
}

bool Slabs::open_slab(Size& size, size_t block_bytes) {
  std::list<Slab> one(1);
  Slab& slab = one.front();
  slab.begin = static_cast<char*>(arenas_.take(kSlabBytes));
  if (slab.begin == nullptr) return false;
  arenas_.note_at(slab.begin) = &slab;
  slab.block_bytes = block_bytes;
  slab.blocks = slab.free_blocks = kSlabBytes / block_bytes;
  for (size_t block = 0; block < slab.blocks; ++block) slab.free[block / 64] |= uint64_t{1} << block % 64;
  slab.entry = one.begin();
  size.open.splice(size.open.begin(), one);
  return true;
}

void Slabs::close_slab(Size& size, Slab& slab) noexcept {
  arenas_.put_back(slab.begin);
  size.open.erase(slab.entry);
}

}  // namespace openaclnn::cpu
