// The CPU device: host memory, queues of the scheduler, and copies.
#include <cstring>
#include <memory>

#include "base/env.h"
#include "base/text.h"
#include "cpu/dispatch.h"
#include "cpu/guard_allocator.h"
#include "cpu/memory_pool.h"
#include "cpu/scheduler.h"
#include "cpu/threads.h"
#include "runtime/device.h"

namespace openaclnn::cpu {

namespace {

// Copies and fills in a queue. Large ones use all threads.
struct CopyPlan {
  CopyShape shape;
  std::unique_ptr<char[]> staged;  // copy of the source, if the caller may reuse its memory at once
};
struct FillPlan {
  int64_t bytes;
  uint8_t value;
};

constexpr int64_t kPage = 4096;  // chunks end at page boundaries, so that no two threads share a cache line

void copy_bytes(void* destination, const void* source, int64_t bytes) {
  const int64_t chunks = chunks_for(2 * bytes);
  parallel_for(chunks, [&](int64_t chunk) {
    const Range range = chunk_range(bytes, chunks, chunk, kPage);
    std::memcpy(static_cast<char*>(destination) + range.begin, static_cast<const char*>(source) + range.begin,
                static_cast<size_t>(range.end - range.begin));
  });
}

// Large copies use all threads. Chunks of rows are whole rows.
void copy_rows(void* destination, const void* source, const CopyShape& shape) {
  if (shape.is_empty()) return;
  if (shape.is_plain())
    return copy_bytes(destination, source, static_cast<int64_t>(shape.rows * shape.width));
  const auto rows = static_cast<int64_t>(shape.rows);
  const int64_t chunks = chunks_for(2 * rows * static_cast<int64_t>(shape.width));
  parallel_for(chunks, [&](int64_t chunk) {
    const Range range = chunk_range(rows, chunks, chunk, 1);
    for (auto row = static_cast<size_t>(range.begin); row < static_cast<size_t>(range.end); ++row) {
      std::memcpy(static_cast<char*>(destination) + row * shape.destination_pitch,
                  static_cast<const char*>(source) + row * shape.source_pitch, shape.width);
    }
  });
}

void fill_bytes(void* destination, uint8_t value, int64_t bytes) {
  const int64_t chunks = chunks_for(bytes);
  parallel_for(chunks, [&](int64_t chunk) {
    const Range range = chunk_range(bytes, chunks, chunk, kPage);
    std::memset(static_cast<char*>(destination) + range.begin, value,
                static_cast<size_t>(range.end - range.begin));
  });
}

Fault run_copy(const void* plan, const TaskIo& io) {
  const auto& copy = *static_cast<const CopyPlan*>(plan);
  copy_rows(io.data[0], copy.staged != nullptr ? copy.staged.get() : io.data[1], copy.shape);
  return {};
}

Fault run_fill(const void* plan, const TaskIo& io) {
  const auto& fill = *static_cast<const FillPlan*>(plan);
  fill_bytes(io.data[0], fill.value, fill.bytes);
  return {};
}

// Returns whether so much memory can never be free.
bool exceeds_machine(size_t bytes) {
  const std::optional<MemoryInfo> memory = cpu::memory_info();
  return memory && bytes > memory->total_bytes;
}

class CpuDevice final : public Device {
 public:
  void* allocate(size_t bytes, MemorySpace) override {
    const auto allocate_memory = environment().guard_allocator ? guard_allocate : pool_allocate;
    void* address = allocate_memory(bytes);
    if (address != nullptr || exceeds_machine(bytes)) return address;
    Scheduler& scheduler = Scheduler::instance();
    uint64_t releases = scheduler.releases();
    do {
      address = allocate_memory(bytes);
    } while (address == nullptr && scheduler.wait_for_release(releases));
    return address;
  }
  void release(void* address, size_t bytes, MemorySpace) override {
    const auto free_memory = environment().guard_allocator ? guard_free : pool_free;
    Scheduler::instance().release_when_done(address, bytes, free_memory);
  }
  void return_memory() override { pool_return_all(); }
  std::string damage(const void* address, size_t bytes) const override {
    return environment().guard_allocator ? guard_damage(address, bytes) : std::string();
  }
  std::optional<MemoryInfo> memory_info() const override { return cpu::memory_info(); }
  std::string name() const override { return "CPU"; }
  bool can_access_peer(int) const override { return true; }
  void enable_peer_access(int) override {}
  std::shared_ptr<Queue> wrap_stream(void*) override { return nullptr; }
  std::shared_ptr<Queue> make_queue() override { return Scheduler::instance().make_queue(); }
  bool has_pending_write(const MemoryRange& range) const override {
    return Scheduler::instance().has_pending_write(range);
  }

  void copy(void* destination, const void* source, const CopyShape& shape) override {
    copy_rows(destination, source, shape);
  }
  void fill(void* destination, uint8_t value, size_t bytes) override {
    fill_bytes(destination, value, static_cast<int64_t>(bytes));
  }
  Task copy_task(void* destination, const void* source, const CopyShape& shape, bool stage_source) override {
    CopyPlan plan{shape, nullptr};
    if (stage_source) {
      plan.staged.reset(new char[shape.rows * shape.width]);
      for (size_t row = 0; row < shape.rows; ++row) {
        std::memcpy(plan.staged.get() + row * shape.width,
                    static_cast<const char*>(source) + row * shape.source_pitch, shape.width);
      }
      plan.shape.source_pitch = shape.width;
    }
    Task task;
    task.run = run_copy;
    task.plan = std::make_shared<const CopyPlan>(std::move(plan));
    task.data = {destination, const_cast<void*>(source)};
    task.written[0] = {destination, shape.destination_extent()};
    return task;
  }
  Task fill_task(void* destination, uint8_t value, size_t bytes) override {
    Task task;
    task.run = run_fill;
    task.plan = std::make_shared<const FillPlan>(FillPlan{static_cast<int64_t>(bytes), value});
    task.data = {destination};
    task.written[0] = {destination, bytes};
    return task;
  }
};

// All CPU device ids refer to the same machine. Several ids exist so that multi-device programs can be
// tested.
Platform* make_platform() {
  auto platform = std::make_unique<Platform>(PlatformKind::cpu);
  platform->devices.reserve(static_cast<size_t>(environment().cpu_devices));
  for (int id = 0; id < environment().cpu_devices; ++id) platform->devices.push_back(new CpuDevice);
  platform->threads = num_threads();
  platform->instruction_set = isa_name(active_isa());
  log_message(LogLevel::info,
              text("CPU platform: ", environment().cpu_devices, " device(s), ", platform->threads,
                   " thread(s), instruction set ", platform->instruction_set));
  return platform.release();
}

[[maybe_unused]] const bool registered = (register_platform(PlatformKind::cpu, make_platform), true);

}  // namespace

}  // namespace openaclnn::cpu
