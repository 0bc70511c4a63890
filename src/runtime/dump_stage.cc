// Queues stages of dumps as tasks on the host.
#include "runtime/dump_stage.h"

#include <cstdint>
#include <new>

#include "base/cancellation.h"
#include "base/text.h"
#include "runtime/device_failure.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/recorder.h"

namespace openaclnn {

namespace {

void run_stage(const DumpStage& stage) noexcept {
  DumpEntry& entry = *stage.entry;
  try {
    for (const auto& [part, items] : stage.parts) entry.add(part, items);
    if (stage.is_last) entry.finish();
  } catch (const std::bad_alloc&) {
    entry.give_up();
  }
  if (!stage.is_logged) return;
  quietly([&] {
    if (entry.lacks_memory()) entry.folder().log_once(kAllocationSentence);
    if (!entry.status().ok()) entry.folder().log_once(entry.status().sentence());
  });
}

Fault run_stage_task(const void* plan, const TaskIo&) {
  const CancellationHold no_cancellation;
  run_stage(*static_cast<const DumpStage*>(plan));
  return {};
}

// Memory of the host for a stage. It is released after the tasks that are queued before the destructor.
class Staging {
 public:
  explicit Staging(Device& device) : device_(device) {}
  ~Staging() {
    for (const auto& [memory, bytes] : blocks_) release(memory, bytes);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Queues a copy of the view's bytes, and moves the view to the copy.
  Status copy(TensorView& view, const Stream& stream) {
    const ByteRange range = byte_range(view);
    const auto bytes = static_cast<size_t>(range.end - range.begin);
    blocks_.reserve(blocks_.size() + 1);
    void* const memory = device_.allocate(bytes, MemorySpace::host);
    if (memory == nullptr) {
      return {ACL_ERROR_RT_MEMORY_ALLOCATION,
              text("EL0004 Failed to allocate ", bytes, " bytes of host memory for a dump")};
    }
    blocks_.emplace_back(memory, bytes);
    const char* const source = static_cast<const char*>(view.data) + range.begin;
    OPENACLNN_TRY(submit(stream, device_.copy_task(memory, source, {bytes}, false), false));
    view.data = static_cast<char*>(memory) - range.begin;
    return {};
  }

 private:
  void release(void* memory, size_t bytes) noexcept {
    try {
      device_.release(memory, bytes, MemorySpace::host);
    } catch (const DeviceFailure&) {
      // The device is lost, and its memory with it.
    }
  }

  Device& device_;
  std::vector<std::pair<void*, size_t>> blocks_;
};

}  // namespace

void add_inputs(DumpStage& stage, std::vector<DumpItem> positional, std::vector<DumpItem> named) {
  if (!stage.entry->folder().settings().inputs) positional.clear(), named.clear();
  stage.parts.emplace_back(DumpPart::input_args, std::move(positional));
  stage.parts.emplace_back(DumpPart::input_kwargs, std::move(named));
}
void add_outputs(DumpStage& stage, std::vector<DumpItem> outputs) {
  if (!stage.entry->folder().settings().outputs) outputs.clear();
  stage.parts.emplace_back(DumpPart::output, std::move(outputs));
  stage.is_last = true;
}

Status queue_stage(DumpStage stage, const Stream& stream, bool wait) {
  OPENACLNN_TRY(stream.queue->can_be_awaited());  // a graph cannot contain a dump
  Staging staging(device_at(stream.device));
  if (platform_kind() != PlatformKind::cpu) {
    for (auto& [part, items] : stage.parts) {
      for (DumpItem& item : items) {
        for (DumpItem::Tensor& tensor : item.tensors) {
          if (tensor.is_given && !tensor.view.is_empty()) OPENACLNN_TRY(staging.copy(tensor.view, stream));
        }
      }
    }
  }
  Task task;
  task.name = "aclDumpOpTensors";
  task.run = run_stage_task;
  task.on_host = true;
  task.plan = std::make_shared<const DumpStage>(std::move(stage));
  return submit(stream, std::move(task), wait);
}

std::string api_of(std::string_view type) {
  std::string name = "Aten.";
  for (const char c : type) {
    const bool is_kept =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += is_kept ? c : '_';
  }
  return name;
}

}  // namespace openaclnn
