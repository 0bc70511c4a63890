// Handles: what the C API calls aclTensor*, aclrtStream and so on are 64-bit numbers looked up in tables, never addresses.
//
// A number is (kind, generation, slot). A slot that is freed and used again gets a new generation, so a stale handle never
// reaches a newer object; a slot whose generations are used up is retired. The kind is an ASCII letter in the top byte,
// which makes every handle a non-canonical address: code that dereferences one faults at once instead of reading garbage.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/fork.h"

namespace openaclnn {

enum class HandleKind : uint8_t {
  tensor = 'T',
  scalar = 'C',
  int_array = 'I',
  float_array = 'F',
  bool_array = 'B',
  tensor_list = 'L',
  scalar_list = 'K',
  executor = 'E',
  stream = 'S',
  event = 'V',
  context = 'X',
};

// All live objects of one kind. Objects are shared: a look-up keeps the object alive while another thread destroys it.
// T is guarded by the table (`with`), or is immutable, or has its own protection.
template <class T, HandleKind kKind>
class HandleTable final : ForkGuarded {
 public:
  // The process's table.
  static HandleTable& instance() { return *table_; }

  // nullptr when every slot is taken. Throws std::bad_alloc.
  void* insert(std::shared_ptr<T> object) {
    Shard& shard = shards_[next_shard()];
    const std::lock_guard lock(shard.mutex);
    uint64_t index = 0;
    if (!shard.free.empty()) {
      index = shard.free.back();
      shard.free.pop_back();
    } else {
      index = shard.slots.size();
      if (index >= kSlotsPerShard) return nullptr;
      // A free slot is always recorded without allocating, so that destroying never fails.
      if (shard.free.capacity() <= index) shard.free.reserve(2 * index + 16);
      shard.slots.emplace_back();
    }
    Slot& slot = shard.slots[index];
    slot.object = std::move(object);
    return pack(slot.generation, index * kShards + static_cast<uint64_t>(&shard - shards_.data()));
  }

  std::shared_ptr<T> find(const void* handle) {
    std::shared_ptr<T> found;
    with(handle, [&](std::shared_ptr<T>& object) { found = object; });
    return found;
  }

  // Calls f(std::shared_ptr<T>&) under the object's lock; false when the handle is not live. f takes no later lock than
  // the memory and scheduler ones and calls no function of this table.
  template <class F>
  bool with(const void* handle, F&& f) {
    Address address;
    if (!unpack(handle, address)) return false;
    const std::lock_guard lock(address.shard->mutex);
    Slot* slot = live_slot(address);
    if (slot == nullptr) return false;
    f(slot->object);
    return true;
  }

  // Ends the handle's life and returns the object; nullptr when it is not live.
  std::shared_ptr<T> remove(const void* handle) {
    return remove_if(handle, [](const T&) { return true; });
  }

  // As remove, if keep_going(object) agrees under the lock.
  template <class Predicate>
  std::shared_ptr<T> remove_if(const void* handle, Predicate&& agrees) {
    Address address;
    if (!unpack(handle, address)) return nullptr;
    const std::lock_guard lock(address.shard->mutex);
    Slot* slot = live_slot(address);
    if (slot == nullptr || !agrees(*slot->object)) return nullptr;
    return release(*address.shard, address.index);
  }

  // Removes every object that satisfies the predicate and calls f(object) without holding a lock. Allocates nothing, so that
  // tearing down cannot fail half way.
  template <class Predicate, class F>
  void remove_where(Predicate&& agrees, F&& f) {
    for (Shard& shard : shards_) {
      std::unique_lock lock(shard.mutex);
      for (uint64_t index = 0; index < shard.slots.size(); ++index) {
        const std::shared_ptr<T>& object = shard.slots[index].object;
        if (object == nullptr || !agrees(*object)) continue;
        std::shared_ptr<T> removed = release(shard, index);
        lock.unlock();
        f(removed);
        removed.reset();  // it may be the last reference
        lock.lock();
      }
    }
  }

  // The handles of all objects that satisfy the predicate, in no particular order.
  template <class Predicate>
  std::vector<void*> handles_where(Predicate&& agrees) {
    std::vector<void*> handles;
    for (size_t s = 0; s < kShards; ++s) {
      const std::lock_guard lock(shards_[s].mutex);
      for (uint64_t index = 0; index < shards_[s].slots.size(); ++index) {
        const Slot& slot = shards_[s].slots[index];
        if (slot.object != nullptr && agrees(*slot.object))
          handles.push_back(pack(slot.generation, index * kShards + s));
      }
    }
    return handles;
  }

 private:
  static constexpr uint64_t kShards =
      16;  // independent locks, so that threads do not queue behind each other
  static constexpr int kSlotBits = 28;
  static constexpr int kGenerationBits = 28;
  static constexpr uint64_t kSlotsPerShard = (uint64_t{1} << kSlotBits) / kShards;
  static constexpr uint64_t kLastGeneration = (uint64_t{1} << kGenerationBits) - 1;

  struct alignas(32) Slot {  // a power of two: finding one is a shift
    uint64_t generation = 1;
    std::shared_ptr<T> object;  // nullptr: free or retired
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::deque<Slot> slots;
    std::vector<uint64_t> free;
  };
  struct Address {
    Shard* shard;
    uint64_t index;
    uint64_t generation;
  };

  HandleTable() { register_fork_guarded(LockRank::handles, this); }

  static void* pack(uint64_t generation, uint64_t slot) {
    const uint64_t kind = static_cast<uint64_t>(kKind);
    return reinterpret_cast<void*>(kind << 56 | generation << kSlotBits | slot);
  }

  bool unpack(const void* handle, Address& address) {
    const uint64_t bits = reinterpret_cast<uint64_t>(handle);
    if (bits >> 56 != static_cast<uint64_t>(kKind)) return false;
    const uint64_t slot = bits & ((uint64_t{1} << kSlotBits) - 1);
    address = {&shards_[slot % kShards], slot / kShards, (bits >> kSlotBits) & kLastGeneration};
    return true;
  }

  static Slot* live_slot(const Address& address) {
    if (address.index >= address.shard->slots.size()) return nullptr;
    Slot& slot = address.shard->slots[address.index];
    return slot.generation == address.generation && slot.object != nullptr ? &slot : nullptr;
  }

  static std::shared_ptr<T> release(Shard& shard, uint64_t index) {
    Slot& slot = shard.slots[index];
    std::shared_ptr<T> object = std::move(slot.object);
    slot.object = nullptr;
    if (slot.generation < kLastGeneration) {
      ++slot.generation;
      shard.free.push_back(index);  // capacity was reserved in insert
    }
    return object;
  }

  static size_t next_shard() {
    thread_local const size_t shard = std::hash<std::thread::id>{}(std::this_thread::get_id()) % kShards;
    return shard;
  }

  void before_fork() override {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void after_fork_in_parent() override {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }
  void after_fork_in_child() override { after_fork_in_parent(); }

  std::array<Shard, kShards> shards_;

  // Made while the library loads (see fork.h); never destroyed, so that handles can be used from static destructors.
  static inline HandleTable* const table_ = new HandleTable;
};

}  // namespace openaclnn
