// Stages of a dump: tasks that write tensors to an entry, in stream order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/dump_entry.h"
#include "runtime/stream.h"

namespace openaclnn {

// The parts that one task adds to an entry.
struct DumpStage {
  std::shared_ptr<DumpEntry> entry;
  std::vector<std::pair<DumpPart, std::vector<DumpItem>>> parts;
  bool is_last = false;
  bool is_logged = false;  // nobody else reports a failure
};

// Add parts to a stage. Those that dump_mode doesn't ask for are empty.
void add_inputs(DumpStage& stage, std::vector<DumpItem> positional, std::vector<DumpItem> named);
void add_outputs(DumpStage& stage, std::vector<DumpItem> outputs);

// Queues the stage as a task on the host. Tensors of a GPU are first copied to memory of the host.
Status queue_stage(DumpStage stage, const Stream& stream, bool wait);

// Returns the part of a key that names an API: dots and other separators become underscores.
std::string api_of(std::string_view type);

}  // namespace openaclnn
