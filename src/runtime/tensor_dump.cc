// Queues dumps as tasks on the host. Tensors of a GPU are first copied to memory of the host, in stream order.
#include "runtime/tensor_dump.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/function_name.h"
#include "base/npy_header.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/device_failure.h"
#include "runtime/dump_entry.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/recorder.h"
#include "runtime/tensor.h"

namespace openaclnn {

// The parts that one task adds to an entry.
struct DumpStage {
  std::shared_ptr<DumpEntry> entry;
  std::vector<std::pair<DumpPart, std::vector<DumpItem>>> parts;
  bool is_last = false;
  bool is_logged = false;  // nobody else reports a failure
};

namespace {

constexpr size_t kMostTensors = size_t{1} << 16;
constexpr size_t kMostTypeBytes = 128;  // file names hold at most 255 bytes
constexpr const char* kFunction = "aclDumpOpTensors";

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
    OPENACLNN_TRY(submit(stream, device_.copy_task(memory, source, bytes, false), false));
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
  task.name = kFunction;
  task.run = run_stage_task;
  task.on_host = true;
  task.plan = std::make_shared<const DumpStage>(std::move(stage));
  return submit(stream, std::move(task), wait);
}

// Returns the part of a key that names an API: dots and other separators become underscores.
std::string api_of(std::string_view type) {
  std::string name = "Aten.";
  for (const char c : type) {
    const bool is_kept =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += is_kept ? c : '_';
  }
  return name;
}

Status check_names(const char* op_type, const char* op_name) {
  if (op_type == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "opType is NULL; pass the type of the operator, such as \"Add\""};
  if (op_name == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "opName is NULL; pass the name of the operator, or an empty string"};
  const size_t bytes = std::string_view(op_type).size();
  if (bytes > 0 && bytes <= kMostTypeBytes) return {};
  return {ACLNN_ERR_PARAM_INVALID, text("opType has ", bytes, " bytes; it must have 1 to ", kMostTypeBytes)};
}

Result<TensorView> check_tensor(const std::string& name, const aclTensor* handle) {
  const std::shared_ptr<const Tensor> tensor = TensorTable::instance().find(handle);
  if (tensor == nullptr) {
    return Status(ACLNN_ERR_PARAM_INVALID, text(name, " is not a live tensor (", address_text(handle),
                                                "); pass NULL or one that aclCreateTensor returned"));
  }
  const TensorView& view = tensor->view;
  if (tensor->rank > kMaxRank) {
    return Status(ACLNN_ERR_PARAM_INVALID,
                  text(name, " has rank ", tensor->rank, "; at most ", kMaxRank, " is accepted"));
  }
  if (npy_type(view.dtype) == nullptr) {
    return Status(ACLNN_ERR_PARAM_INVALID,
                  text(name, " has dtype ", dtype_name(view.dtype), ", which .npy files cannot hold"));
  }
  OPENACLNN_TRY(check_extent(name.c_str(), view));
  if (view.is_empty()) return view;
  if (view.data == nullptr) {
    return Status(ACLNN_ERR_PARAM_NULLPTR,
                  text("the data address of ", name, " is NULL but its shape is ", shape_text(view.shape())));
  }
  const ByteRange range = byte_range(view);
  const void* const begin = static_cast<const char*>(view.data) + range.begin;
  OPENACLNN_TRY(
      check_range(name.c_str(), begin, static_cast<size_t>(range.end - range.begin), RangeOwner::device));
  return view;
}

Result<std::vector<DumpItem>> check_tensors(aclTensor* const* tensors, size_t first, size_t count) {
  std::vector<DumpItem> items;
  for (size_t k = first; k < first + count; ++k) {
    DumpItem& item = items.emplace_back();
    item.tensors.resize(1);
    if (tensors[k] == nullptr) continue;
    OPENACLNN_TRY_ASSIGN(view, check_tensor(text("tensors[", k, "]"), tensors[k]));
    item.tensors[0] = {true, view};
  }
  return items;
}

// Adds parts to a stage. Those that dump_mode doesn't ask for are empty.
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

}  // namespace

struct CallDump {
  DumpStage outputs;
};

namespace {

std::string scalar_json(const RecordedArgument& argument) {
  using Kind = RecordedArgument::Kind;
  Json json;
  const auto typed = [&](const char* type) -> Json& {
    return json.open('{').field("type", type).key("value");
  };
  if (!argument.is_given) return "null";
  switch (argument.kind) {
    case Kind::integer: typed("int").value(argument.integers[0]).close('}'); break;
    case Kind::real: typed("float").python_float(argument.real).close('}'); break;
    case Kind::flag: typed("bool").value(argument.integers[0] != 0).close('}'); break;
    case Kind::text: typed("str").value(argument.text).close('}'); break;
    case Kind::integers:
      json.open('[');
      for (const int64_t number : argument.integers)
        json.open('{').field("type", "int").field("value", number).close('}');
      json.close(']');
      break;
    case Kind::tensor:
    case Kind::list: return {};
  }
  return json.text();
}

// The tensor as the caller described it, because plans may simplify shapes.
DumpItem::Tensor described(const RecordedArgument::TensorText& tensor, void* data) {
  if (tensor.dims.size() > kMaxRank) return {};  // another thread changed it during phase 1
  TensorView view;
  view.data = data;
  view.offset = tensor.offset;
  view.dtype = tensor.dtype;
  view.rank = static_cast<int>(tensor.dims.size());
  std::ranges::copy(tensor.dims, view.dims);
  std::ranges::copy(tensor.strides, view.strides);
  return {data != nullptr || view.is_empty(), view};
}

// The tensors of an argument, with the addresses of this call.
DumpItem tensor_item(const RecordedArgument& argument, const Parameter* parameter, const Snapshot& snapshot) {
  DumpItem item;
  item.name = argument.name;
  item.is_list = argument.kind == RecordedArgument::Kind::list;
  if (parameter == nullptr) {
    item.json = "null";
  } else if (item.is_list) {
    for (size_t k = 0; k < std::min(parameter->element_count, argument.tensors.size()); ++k) {
      void* const data = snapshot.lists->addresses[parameter->first_element + k];
      item.tensors.push_back(described(argument.tensors[k], data));
    }
  } else {
    const auto position = static_cast<size_t>(parameter - snapshot.call->parameters.data());
    item.tensors.push_back(described(argument.tensors[0], snapshot.data[position]));
  }
  return item;
}

// The arguments by name, and the results in the order of the signature. Updated tensors are both.
void add_arguments(const Snapshot& snapshot, std::vector<DumpItem>& inputs, std::vector<DumpItem>& outputs) {
  for (const RecordedArgument& argument : snapshot.call->record->arguments()) {
    const bool is_tensor =
        argument.kind == RecordedArgument::Kind::tensor || argument.kind == RecordedArgument::Kind::list;
    if (!is_tensor) {
      inputs.push_back({argument.name, scalar_json(argument), false, {}});
      continue;
    }
    const Parameter* const parameter = snapshot.call->find(argument.name);
    DumpItem item = tensor_item(argument, parameter, snapshot);
    if (parameter != nullptr && parameter->is_output) outputs.push_back(item);
    if (parameter == nullptr || parameter->is_input) inputs.push_back(std::move(item));
  }
}

// Returns whether the stage was queued; a failure is logged.
bool queue_or_log(DumpStage stage, const Stream& stream) {
  const std::shared_ptr<DumpEntry> entry = stage.entry;
  try {
    const Status status = queue_stage(std::move(stage), stream, false);
    if (status.ok()) return true;
    entry->folder().log_once(status.sentence());
  } catch (const DeviceFailure& failure) {
    entry->folder().log_once(failure.what());
  }
  return false;
}

std::shared_ptr<CallDump> begin(const Snapshot& snapshot, const std::string& function, const Stream& stream,
                                const std::shared_ptr<DumpFolder>& folder) {
  std::vector<DumpItem> named, outputs;
  add_arguments(snapshot, named, outputs);
  Result<DumpPlace> place = folder->add_call(api_of(std::string(without_aclnn(function))));
  if (!place.ok()) {
    folder->log_once(place.status().sentence());
    return nullptr;
  }
  DumpStage inputs;
  inputs.entry = std::make_shared<DumpEntry>(folder, std::move(*place), "");
  inputs.is_logged = true;
  auto dump = std::make_shared<CallDump>(CallDump{inputs});
  add_inputs(inputs, {}, std::move(named));
  add_outputs(dump->outputs, std::move(outputs));
  return queue_or_log(std::move(inputs), stream) ? dump : nullptr;
}

}  // namespace

std::shared_ptr<CallDump> dump_inputs(const Snapshot& snapshot, const Stream& stream) noexcept {
  std::shared_ptr<CallDump> dump;
  quietly([&] {
    const std::shared_ptr<DumpFolder> folder = DumpFolder::current();
    // A call without a record was planned before aclInit.
    if (folder == nullptr || snapshot.call->record == nullptr) return;
    const std::string function(snapshot.call->function());
    if (folder->selects(function, function)) dump = begin(snapshot, function, stream, folder);
  });
  return dump;
}

void dump_outputs(const std::shared_ptr<CallDump>& dump, const Stream& stream) noexcept {
  if (dump != nullptr) quietly([&] { queue_or_log(std::move(dump->outputs), stream); });
}

Status dump_op_tensors(const char* op_type, const char* op_name, aclTensor* const* tensors, size_t inputs,
                       size_t outputs, aclrtStream stream) {
  const std::shared_ptr<DumpFolder> folder = DumpFolder::current();
  if (folder == nullptr) return {};
  OPENACLNN_TRY(check_names(op_type, op_name));
  if (inputs > kMostTensors || outputs > kMostTensors - inputs) {
    return {ACLNN_ERR_PARAM_INVALID, text("inputTensorNum is ", inputs, " and outputTensorNum is ", outputs,
                                          "; together at most ", kMostTensors, " are accepted")};
  }
  if (tensors == nullptr && inputs + outputs > 0) {
    return {ACLNN_ERR_PARAM_NULLPTR, text("tensors is NULL but inputTensorNum + outputTensorNum is ",
                                          inputs + outputs, "; pass that many tensors")};
  }
  OPENACLNN_TRY_ASSIGN(input_items, check_tensors(tensors, 0, inputs));
  OPENACLNN_TRY_ASSIGN(output_items, check_tensors(tensors, inputs, outputs));
  OPENACLNN_TRY_ASSIGN(target, find_stream_of_device(stream));
  if (!folder->selects(op_type, op_name)) return {};
  OPENACLNN_TRY(target->queue->can_be_awaited());
  OPENACLNN_TRY_ASSIGN(place, folder->add_call(api_of(op_type)));
  const auto entry = std::make_shared<DumpEntry>(folder, std::move(place), op_name);
  DumpStage stage;
  stage.entry = entry;
  add_inputs(stage, std::move(input_items), {});
  add_outputs(stage, std::move(output_items));
  OPENACLNN_TRY(queue_stage(std::move(stage), *target, true));
  if (entry->lacks_memory()) throw std::bad_alloc();
  OPENACLNN_TRY(Status(entry->status()));
  if (entry->is_finished()) return {};
  return {ACL_ERROR_RT_INVALID_HANDLE, "stream was destroyed before the tensors were written"};
}

}  // namespace openaclnn
