// Waits for streams and devices, and reports their faults.
#include "runtime/synchronize.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <vector>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/context.h"
#include "runtime/error_text.h"

namespace openaclnn {

Status synchronize_stream(const Stream& stream, Deadline deadline) {
  if (stream.queue->synchronize(deadline) == WaitResult::timed_out) {
    return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
            text("timeout expired: stream ", stream.number, " has not finished; its tasks continue to run")};
  }
  return stream.queue->fault_cell->take();
}

Status synchronize_device(const char* function, Deadline deadline) {
  OPENACLNN_TRY_ASSIGN(current, current_context());
  const int device = current.context->device;
  std::vector<std::shared_ptr<Stream>> streams;
  for (void* handle :
       StreamTable::instance().handles_where([&](const Stream& s) { return s.device == device; })) {
    if (std::shared_ptr<Stream> stream = StreamTable::instance().find(handle))
      streams.push_back(std::move(stream));
  }
  for (const std::shared_ptr<Stream>& stream : streams) {
    if (stream->queue->synchronize(deadline) == WaitResult::timed_out) {
      return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
              text("timeout expired: device ", device, " has not finished; its tasks continue to run")};
    }
  }
  std::vector<std::shared_ptr<FaultCell>> cells;
  for (const std::shared_ptr<Stream>& stream : streams) cells.push_back(stream->queue->fault_cell);
  append_orphaned_faults(device, cells);
  // Error messages are listed newest first: the stream with the highest number is added first, the lowest is
  // returned last.
  std::sort(cells.begin(), cells.end(),
            [](const auto& a, const auto& b) { return a->stream_number() > b->stream_number(); });
  Status pending;
  try {
    for (const std::shared_ptr<FaultCell>& cell : cells) {
      Status fault = cell->take();
      if (fault.ok()) continue;
      if (!pending.ok()) add_error_line(function, pending.sentence(), pending.code());
      pending = std::move(fault);
    }
  } catch (const std::bad_alloc&) {
    // The faults that were taken must be returned now. The next call finds the others.
    if (pending.ok()) throw;
  }
  forget_reported_orphans();
  return pending;
}

Result<Deadline> deadline_after(int32_t milliseconds) {
  if (milliseconds < -1) {
    return Status(
        ACL_ERROR_RT_PARAM_INVALID,
        text("timeout is ", milliseconds, "; it must be -1 (no limit) or at least 0 (milliseconds)"));
  }
  if (milliseconds == -1) return Deadline{};
  return Deadline{Clock::now() + std::chrono::milliseconds(milliseconds)};
}

}  // namespace openaclnn
