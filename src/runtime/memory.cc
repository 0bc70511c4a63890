// The block table. It stores addresses and sizes; devices own the memory.
#include "runtime/memory.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/device_failure.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

struct Block {
  size_t usable_bytes;
  int device;
  MemorySpace space;
};

class BlockTable {
 public:
  static BlockTable& instance() { return *table_; }

  void insert(void* address, const Block& block) {
    const std::lock_guard lock(mutex_);
    blocks_.emplace(reinterpret_cast<uintptr_t>(address), block);
  }

  using Entry = std::map<uintptr_t, Block>::node_type;

  // Returns an empty entry if there is none.
  Entry remove(void* address, MemorySpace space) {
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(reinterpret_cast<uintptr_t>(address));
    if (at == blocks_.end() || at->second.space != space) return {};
    return blocks_.extract(at);
  }

  void put_back(Entry&& entry) noexcept {
    const std::lock_guard lock(mutex_);
    blocks_.insert(std::move(entry));
  }

  // Returns the bytes from `address` to the end of its block, or nullopt if it is in no block.
  std::optional<size_t> bytes_to_end(const void* address) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard lock(mutex_);
    auto next = blocks_.upper_bound(at);
    if (next == blocks_.begin()) return std::nullopt;
    --next;
    const size_t distance = at - next->first;
    if (distance >= next->second.usable_bytes) return std::nullopt;
    return next->second.usable_bytes - distance;
  }

 private:
  ForkSafeMutex mutex_{LockRank::memory};
  std::map<uintptr_t, Block> blocks_;
  static BlockTable* const table_;
};

BlockTable* const BlockTable::table_ = new BlockTable;

std::string free_text(const Device& device) {
  const std::optional<MemoryInfo> memory = device.memory_info();
  return memory ? text(memory->free_bytes, " bytes free") : std::string("free memory is unknown");
}

}  // namespace

Result<void*> allocate_block(int device, size_t requested_bytes, size_t usable_bytes, MemorySpace space) {
  // The guard allocator detects accesses beyond the requested size, so the block is exactly this large.
  if (environment().guard_allocator) usable_bytes = std::min(usable_bytes, requested_bytes);
  void* address = usable_bytes <= PTRDIFF_MAX ? device_at(device).allocate(usable_bytes, space) : nullptr;
  if (address == nullptr) {
    return Status(
        ACL_ERROR_RT_MEMORY_ALLOCATION,
        text("EL0004 Failed to allocate ", requested_bytes, " bytes",
             space == MemorySpace::device ? text(" on device ", device) : std::string(" of host memory"),
             " (", free_text(device_at(device)), ")"));
  }
  try {
    BlockTable::instance().insert(address, {usable_bytes, device, space});
  } catch (...) {
    device_at(device).release(address, usable_bytes, space);
    throw;
  }
  return address;
}

Status free_block(void* address, MemorySpace space) {
  const bool host = space == MemorySpace::host;
  const char* const name = host ? "hostPtr" : "devPtr";
  BlockTable::Entry entry = BlockTable::instance().remove(address, space);
  if (entry.empty()) {
    return {ACL_ERROR_RT_PARAM_INVALID,
            text(name, " (", address_text(address),
                 ") is not the start of a live block; it must be an address that ",
                 host ? "aclrtMallocHost" : "aclrtMalloc", " returned and that has not been freed")};
  }
  const Block block = entry.mapped();
  Device& device = device_at(block.device);
  const auto release = [&] {
    try {
      device.release(address, block.usable_bytes, space);
    } catch (const DeviceFailure&) {
      BlockTable::instance().put_back(std::move(entry));  // the program still owns it and may try again
      throw;
    }
  };
  std::string damage;
  try {
    damage = device.damage(address, block.usable_bytes);
  } catch (...) {
    release();
    throw;
  }
  release();
  if (damage.empty()) return {};
  // Many programs ignore the result of a free, so the message is also logged.
  damage = text(name, " (", address_text(address), ") was freed, but ", damage);
  log_message(LogLevel::error, damage);
  return {ACL_ERROR_RT_PARAM_INVALID, std::move(damage)};
}

Status check_range(const char* name, const void* address, size_t bytes, RangeOwner owner) {
  const std::optional<size_t> bytes_left = BlockTable::instance().bytes_to_end(address);
  const bool may_be_unknown = owner == RangeOwner::host || environment().check != CheckMode::strict;
  if (bytes_left ? bytes <= *bytes_left : may_be_unknown) return {};
  if (!bytes_left) {
    return {
        ACL_ERROR_RT_PARAM_INVALID,
        text(name, " (", address_text(address),
             ") is not inside a live block; in strict mode device memory must come from ", "aclrtMalloc")};
  }
  return {ACL_ERROR_RT_PARAM_INVALID, text(name, " has ", *bytes_left, " bytes to the end of its block but ",
                                           bytes, " bytes are accessed")};
}

std::optional<size_t> bytes_to_end_of_block(const void* address) {
  return BlockTable::instance().bytes_to_end(address);
}

bool is_known(const void* address) { return bytes_to_end_of_block(address).has_value(); }

}  // namespace openaclnn
