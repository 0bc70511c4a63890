// The CUDA device: memory from the block caches, queues for streams, and copies on a stream of its own.
#include "cuda/device.h"

#include <atomic>

#include "acl/acl_rt.h"
#include "base/first_use.h"
#include "cuda/block_cache.h"
#include "cuda/driver.h"
#include "cuda/fault_slots.h"
#include "cuda/queue.h"

namespace openaclnn::cuda {

namespace {

// cudaStreamPerThread. The library does not include CUDA's header.
void* const kPerThreadStream = reinterpret_cast<void*>(2);

class CudaDevice final : public Device {
 public:
  CudaDevice(const PluginTable& table, int id, std::shared_ptr<QueueRegistry> queues)
      : driver_(table, id), queues_(std::move(queues)) {}

  void* allocate(size_t bytes, MemorySpace space) override { return cache(space).allocate(bytes); }

  void release(void* address, size_t bytes, MemorySpace space) override {
    driver_.require_usable();
    try {
      Fence fence;
      for (const std::shared_ptr<CudaQueue>& queue : queues_->all()) {
        if (std::optional<FencePoint> point = queue->busy_until(false)) fence.push_back(*std::move(point));
      }
      cache(space).put(address, bytes, std::move(fence));
    } catch (const std::bad_alloc&) {
      cache(space).free_now(
          address);  // no memory for the list entry: the driver waits until nothing uses the block
    }
  }

  void return_memory() override {
    device_blocks_.free_unused();
    host_blocks_.free_unused();
  }

  std::string damage(const void*, size_t) const override { return {}; }

  std::optional<MemoryInfo> memory_info() const override {
    MemoryInfo info = {};
    driver_.call(&PluginTable::memory_info, &info.free_bytes, &info.total_bytes);
    info.free_bytes += device_blocks_.idle_bytes();
    return info;
  }

  std::string name() const override {
    const char* name = "";
    driver_.call(&PluginTable::device_name, &name);
    return name;
  }

  bool can_access_peer(int peer) const override {
    int can = 0;
    driver_.call(&PluginTable::can_access_peer, peer, &can);
    return can != 0;
  }
  void enable_peer_access(int peer) override { driver_.call(&PluginTable::enable_peer_access, peer); }

  std::shared_ptr<Queue> make_queue() override {
    void* stream = nullptr;
    driver_.call(&PluginTable::create_stream, &stream);
    return add_queue(stream, CudaQueue::Owner::library);
  }
  std::shared_ptr<Queue> wrap_stream(void* stream) override {
    driver_.require_usable();
    // Any thread may record the events that memory is freed after. With this handle each thread would record
    // on its own stream.
    if (stream == kPerThreadStream) {
      throw DeviceFailure(Status(
          ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
          "nativeStream is cudaStreamPerThread (0x2), which is a different stream on each "
          "thread; it must be a stream that cudaStreamCreate returned, or NULL for CUDA's default stream"));
    }
    return add_queue(stream, CudaQueue::Owner::program);
  }

  bool has_pending_write(const MemoryRange& range) const override {
    for (const std::shared_ptr<CudaQueue>& queue : queues_->all()) {
      if (queue->has_pending_write(range)) return true;
    }
    return false;
  }

  void copy(void* destination, const void* source, const CopyShape& shape) override {
    void* const stream = transfer_stream();
    (void)start_copy(driver_, stream, destination, source, shape);
    driver_.call(&PluginTable::synchronize_stream, stream);
  }
  void fill(void* destination, uint8_t value, size_t bytes) override {
    void* const stream = transfer_stream();
    driver_.call(&PluginTable::fill_async, stream, destination, static_cast<int>(value), bytes);
    driver_.call(&PluginTable::synchronize_stream, stream);
  }

  // Queues wait for copies from pageable memory, and other memory needs no staging.
  Task copy_task(void* destination, const void* source, const CopyShape& shape, bool) override {
    Task task = transfer({shape, false, 0});
    task.data = {destination, const_cast<void*>(source)};
    task.written[0] = {destination, shape.destination_extent()};
    return task;
  }
  Task fill_task(void* destination, uint8_t value, size_t bytes) override {
    Task task = transfer({{bytes}, true, value});
    task.data = {destination};
    task.written[0] = {destination, bytes};
    return task;
  }

 private:
  BlockCache& cache(MemorySpace space) {
    return space == MemorySpace::device ? device_blocks_ : host_blocks_;
  }

  std::shared_ptr<Queue> add_queue(void* stream, CudaQueue::Owner owner) {
    std::shared_ptr<CudaQueue> queue;
    try {
      queue = std::make_shared<CudaQueue>(driver_, slots_, stream, owner);
    } catch (...) {
      if (owner == CudaQueue::Owner::library) driver_.call_quietly(&PluginTable::destroy_stream, stream);
      throw;
    }
    queues_->add(queue);
    return queue;
  }

  static Task transfer(const Transfer& plan) {
    Task task;
    task.plan = std::make_shared<const Transfer>(plan);
    return task;
  }

  // The stream of synchronous copies, which are not ordered with the program's streams. Created at first use.
  void* transfer_stream() {
    if (void* const known = transfer_stream_.load(std::memory_order_acquire)) return known;
    void* made = nullptr;
    driver_.call(&PluginTable::create_stream, &made);
    if (!is_first(transfer_stream_, made)) driver_.call_quietly(&PluginTable::destroy_stream, made);
    return transfer_stream_.load(std::memory_order_acquire);
  }

  mutable Driver driver_;
  FaultSlots slots_{driver_};
  mutable BlockCache device_blocks_{driver_, MemorySpace::device};
  BlockCache host_blocks_{driver_, MemorySpace::host};
  const std::shared_ptr<QueueRegistry> queues_;
  std::atomic<void*> transfer_stream_{nullptr};
};

}  // namespace

Device* make_device(const PluginTable& table, int id, std::shared_ptr<QueueRegistry> queues) {
  return new CudaDevice(table, id, std::move(queues));
}

}  // namespace openaclnn::cuda
