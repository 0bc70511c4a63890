// Handles: the aclTensor*, aclrtStream and so on of the C API are 64-bit numbers looked up in tables, never
// addresses.
//
// A handle consists of (kind, generation, slot). A slot that is reused gets a new generation, so a stale
// handle never refers to a newer object. A slot whose generations are used up is retired. The kind is an
// ASCII letter in the top byte, so every handle is a non-canonical address. Code that dereferences one faults
// at once instead of reading garbage.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/fork.h"
#include "runtime/slots.h"

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

// A hash of this thread's identity. One number for all tables, because libraries share little storage of threads.
inline size_t hash_of_thread() {
  thread_local constinit size_t known = 0;  // twice the hash plus 1
  if (known == 0) known = std::hash<std::thread::id>{}(std::this_thread::get_id()) * 2 + 1;
  return known / 2;
}

// The part of an object that threads copy without taking its lock. Nothing, unless a specialisation for T
// exists: see PublishedTensor. Its table calls publish() and withdraw() under the lock.
template <class T>
struct Published {
  void publish(uint64_t /*generation*/, const T&) {}
  void withdraw() {}
};

// All live objects of one kind. Objects are shared: a lookup keeps the object alive while another thread
// destroys it. T is guarded by the table (`with`), immutable, or synchronised by itself.
template <class T, HandleKind kKind>
class HandleTable final : ForkGuarded {
 public:
  // The table of the process.
  static HandleTable& instance() { return *table_; }

  // Returns nullptr if every slot is in use. Throws std::bad_alloc.
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
      // Reserves space for the free list now, so that destroying never allocates and never fails.
      if (shard.free.capacity() <= index) shard.free.reserve(2 * index + 16);
      shard.slots.append();
    }
    Slot& slot = shard.slots[index];
    slot.object = std::move(object);
    slot.published.publish(slot.generation, *slot.object);
    return pack(slot.generation, index * kShards + static_cast<uint64_t>(&shard - shards_.data()));
  }

  std::shared_ptr<T> find(const void* handle) {
    std::shared_ptr<T> found;
    with(handle, [&](std::shared_ptr<T>& object) { found = object; });
    return found;
  }

  // Calls f(std::shared_ptr<T>&) under the object's lock; returns false if the handle is not live. f may only
  // take the memory and scheduler locks and later ones, and must not call functions of this table.
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

  // Sets `copy` to the published part of the object; returns false if the handle is not live. Takes no lock,
  // unless another thread replaces or removes the object at this moment.
  template <class Copy>
  bool read(const void* handle, Copy& copy) {
    Address address;
    if (!unpack(handle, address)) return false;
    const Slot* const slot = address.shard->slots.find(address.index);
    if (slot == nullptr) return false;
    if (slot->published.copy_to(address.generation, copy)) [[likely]]
      return true;
    return with(handle, [&](const std::shared_ptr<T>& object) { copy = *object; });
  }

  // Starts loading what read() of this handle will need: for callers that know their next handles.
  void prefetch(const void* handle) {
    Address address;
    if (!unpack(handle, address)) return;
    const auto* const slot = reinterpret_cast<const char*>(address.shard->slots.find(address.index));
    if (slot == nullptr) return;
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64);
  }

  // Replaces the object if it is still `old`; returns false if it is not, or if the handle is not live.
  bool exchange(const void* handle, const std::shared_ptr<T>& old, const std::shared_ptr<T>& updated) {
    Address address;
    if (!unpack(handle, address)) return false;
    const std::lock_guard lock(address.shard->mutex);
    Slot* slot = live_slot(address);
    if (slot == nullptr || slot->object != old) return false;
    slot->object = updated;
    slot->published.publish(slot->generation, *updated);
    return true;
  }

  // Removes the object from the table and returns it; returns nullptr if the handle is not live.
  std::shared_ptr<T> remove(const void* handle) {
    return remove_if(handle, [](const T&) { return true; });
  }

  // Like remove, if agrees(object) returns true under the lock.
  template <class Predicate>
  std::shared_ptr<T> remove_if(const void* handle, Predicate&& agrees) {
    Address address;
    if (!unpack(handle, address)) return nullptr;
    const std::lock_guard lock(address.shard->mutex);
    Slot* slot = live_slot(address);
    if (slot == nullptr || !agrees(*slot->object)) return nullptr;
    return release(*address.shard, address.index);
  }

  // Calls f(handle, object) without holding a lock, for every object that satisfies the predicate. Allocates
  // nothing, so that it cannot fail midway.
  template <class Predicate, class F>
  void for_each_where(Predicate&& agrees, F&& f) {
    for (size_t s = 0; s < kShards; ++s) {
      Shard& shard = shards_[s];
      std::unique_lock lock(shard.mutex);
      for (uint64_t index = 0; index < shard.slots.size(); ++index) {
        const Slot& slot = shard.slots[index];
        if (slot.object == nullptr || !agrees(*slot.object)) continue;
        void* const handle = pack(slot.generation, index * kShards + s);
        std::shared_ptr<T> object = slot.object;
        lock.unlock();
        f(handle, object);
        object.reset();  // may release the last reference
        lock.lock();
      }
    }
  }

  // Removes every object that satisfies the predicate, and calls f(object) without holding a lock.
  template <class Predicate, class F>
  void remove_where(Predicate&& agrees, F&& f) {
    for_each_where(agrees, [&](void* handle, const std::shared_ptr<T>&) {
      if (const std::shared_ptr<T> removed = remove(handle)) f(removed);
    });
  }

  // Returns the handles of all objects that satisfy the predicate, in no particular order.
  template <class Predicate>
  std::vector<void*> handles_where(Predicate&& agrees) {
    std::vector<void*> handles;
    for (size_t s = 0; s < kShards; ++s) {
      const std::lock_guard lock(shards_[s].mutex);
      for (uint64_t index = 0; index < shards_[s].slots.size(); ++index) {
        const Slot& slot = *shards_[s].slots.find(index);
        if (slot.object != nullptr && agrees(*slot.object))
          handles.push_back(pack(slot.generation, index * kShards + s));
      }
    }
    return handles;
  }

 private:
  // Independent locks: threads that use different shards do not contend.
  static constexpr uint64_t kShards = 16;
  static constexpr int kSlotBits = 28;
  static constexpr int kGenerationBits = 28;
  static constexpr uint64_t kSlotsPerShard = (uint64_t{1} << kSlotBits) / kShards;
  static constexpr uint64_t kLastGeneration = (uint64_t{1} << kGenerationBits) - 1;

  // A power of two: indexing is a shift.
  struct alignas(std::max(size_t{32}, alignof(Published<T>))) Slot {
    [[no_unique_address]] Published<T> published;
    uint64_t generation = 1;
    std::shared_ptr<T> object;  // nullptr if free or retired
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    Slots<Slot, kSlotsPerShard> slots;
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
    Slot* const slot = address.shard->slots.find(address.index);
    if (slot == nullptr || slot->generation != address.generation || slot->object == nullptr) return nullptr;
    return slot;
  }

  static std::shared_ptr<T> release(Shard& shard, uint64_t index) {
    Slot& slot = shard.slots[index];
    slot.published.withdraw();
    std::shared_ptr<T> object = std::move(slot.object);
    slot.object = nullptr;
    if (slot.generation < kLastGeneration) {
      ++slot.generation;
      shard.free.push_back(index);  // capacity was reserved in insert
    }
    return object;
  }

  static size_t next_shard() { return hash_of_thread() % kShards; }

  void before_fork() override {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void after_fork_in_parent() override {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }
  void after_fork_in_child() override { after_fork_in_parent(); }

  std::array<Shard, kShards> shards_;

  // Created while the library loads (see fork.h). Never destroyed, so that static destructors can use
  // handles.
  static inline HandleTable* const table_ = new HandleTable;
};

}  // namespace openaclnn
