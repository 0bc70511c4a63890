// The memory that kernels access, with the checks of a GPU's sanitizer.
#include "cuda/ptx/memory.h"

#include <algorithm>
#include <utility>

namespace openaclnn::ptx {

AddressMap::AddressMap(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  std::ranges::sort(ranges_, {}, &Range::begin);
}

bool AddressMap::find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  if (after == ranges_.begin()) return false;
  latest_ = *std::prev(after);
  return true;
}

// Filled, so that no code relies on the contents.
void SharedMemory::begin_block(size_t bytes) {
  memory_.assign(bytes, std::byte{0xCD});
  bytes_.assign(bytes, Byte());
}

bool SharedMemory::is_ordered(const Record& before, const Moment& now) {
  if (!before.is_there || before.when.block_time < now.block_time) return true;
  if (before.has_other_warps || before.when.warp != now.warp) return false;
  if (before.when.warp_time < now.warp_time) return true;
  return !before.has_others && before.when.thread == now.thread;
}

const char* SharedMemory::touch(uint64_t offset, size_t bytes, Touch kind, const Moment& now) {
  for (uint64_t k = offset; k < offset + bytes; ++k) {
    Byte& byte = bytes_[k];
    const bool both_atomic = kind == Touch::atomic && byte.write.is_atomic;
    if (!both_atomic && !is_ordered(byte.write, now))
      return kind == Touch::read ? "reads what another thread writes, with no barrier between"
                                 : "writes where another thread writes, with no barrier between";
    if (kind == Touch::read) {
      if (!byte.write.is_there) return "reads shared memory that nobody wrote";
      Record& read = byte.read;
      const bool joins = !is_ordered(read, now);
      const bool other_warps = joins && (read.has_other_warps || read.when.warp != now.warp);
      read = {now, true, false, joins, other_warps};
    } else {
      if (kind == Touch::atomic && !byte.write.is_there) return "reads shared memory that nobody wrote";
      if (!is_ordered(byte.read, now)) return "writes what another thread reads, with no barrier between";
      // Atomic accesses of many threads count as one.
      const bool joins = both_atomic && !is_ordered(byte.write, now);
      const bool other_warps = joins && (byte.write.has_other_warps || byte.write.when.warp != now.warp);
      byte.write = {now, true, kind == Touch::atomic, joins, other_warps};
    }
  }
  return nullptr;
}

}  // namespace openaclnn::ptx
