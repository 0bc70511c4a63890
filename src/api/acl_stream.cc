// Implements aclrt* for streams and events.
#include "acl/acl.h"
#include "api/require.h"
#include "openaclnn/openaclnn.h"
#include "runtime/event.h"
#include "runtime/guard.h"
#include "runtime/stream.h"
#include "runtime/synchronize.h"

using namespace openaclnn;

namespace {

Status synchronize_stream_until(aclrtStream stream, Deadline deadline) {
  OPENACLNN_TRY_ASSIGN(found, find_stream(stream));
  return synchronize_stream(*found, deadline);
}

// Plain events and events with ACL_EVENT_TIME_LINE record times. Unknown flags are ignored.
Status deliver_event(aclrtEvent* event, uint32_t flag) {
  OPENACLNN_TRY(require_pointer("event", event));
  constexpr uint32_t kUntimed = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS |
                                ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
  return deliver(create_event((flag & kUntimed) == 0 || (flag & ACL_EVENT_TIME_LINE) != 0), event);
}

// Queries the state of the latest record and writes one of two enum values.
template <class Enum>
Status deliver_event_state(aclrtEvent event, Enum* status, Enum complete, Enum not_ready) {
  OPENACLNN_TRY(require_pointer("event", event));
  OPENACLNN_TRY(require_pointer("status", status));
  OPENACLNN_TRY_ASSIGN(is_complete, event_complete(event));
  *status = is_complete ? complete : not_ready;
  return {};
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("stream", stream));
    return deliver(create_stream(), stream);
  });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return runtime_guard(__func__, [&]() -> Status {
    (void)priority, (void)flag;  // hints for hardware queues
    OPENACLNN_TRY(require_pointer("stream", stream));
    return deliver(create_stream(), stream);
  });
}

aclError openaclnnCreateStreamFromNative(void* nativeStream, aclrtStream* stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("stream", stream));
    return deliver(wrap_stream(nativeStream), stream);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("stream", stream));
    return destroy_stream(stream, false);
  });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("stream", stream));
    return destroy_stream(stream, true);
  });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return runtime_guard(__func__, [&] { return synchronize_stream_until(stream, std::nullopt); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(deadline, deadline_after(timeout));
    return synchronize_stream_until(stream, deadline);
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("status", status));
    OPENACLNN_TRY_ASSIGN(found, find_stream(stream));
    *status = found->queue->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    return stream_wait_event(stream, event);
  });
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  return runtime_guard(__func__, [&] { return deliver_event(event, 0); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return runtime_guard(__func__, [&] { return deliver_event(event, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return runtime_guard(__func__, [&] { return deliver_event(event, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    return destroy_event(event);
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    return record_event(event, stream);
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    return reset_event(event, stream);
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return runtime_guard(__func__, [&] {
    return deliver_event_state(event, status, ACL_EVENT_STATUS_COMPLETE, ACL_EVENT_STATUS_NOT_READY);
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return runtime_guard(__func__, [&] {
    return deliver_event_state(event, status, ACL_EVENT_RECORDED_STATUS_COMPLETE,
                               ACL_EVENT_RECORDED_STATUS_NOT_READY);
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return runtime_guard(__func__, [&] {
    return deliver_event_state(event, status, ACL_EVENT_WAIT_STATUS_COMPLETE,
                               ACL_EVENT_WAIT_STATUS_NOT_READY);
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    return synchronize_event(event, std::nullopt);
  });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("event", event));
    OPENACLNN_TRY_ASSIGN(deadline, deadline_after(timeout));
    return synchronize_event(event, deadline);
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("ms", ms));
    OPENACLNN_TRY(require_pointer("startEvent", startEvent));
    OPENACLNN_TRY(require_pointer("endEvent", endEvent));
    return deliver(elapsed_milliseconds(startEvent, endEvent), ms);
  });
}
