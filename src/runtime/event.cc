// Implements events with markers. Waits hold the marker, so later records, resets and destroys never affect
// them.
#include "runtime/event.h"

#include "base/text.h"
#include "runtime/context.h"
#include "runtime/stream.h"

namespace openaclnn {

namespace {

Status stale_event(const char* name, const void* handle) {
  return {ACL_ERROR_RT_INVALID_HANDLE, text(name, " is not a live event (", address_text(handle),
                                            "); pass one that aclrtCreateEvent returned")};
}

// Returns a copy of the event's state.
Result<Event> look_up(const char* name, void* handle) {
  OPENACLNN_TRY(current_context().status());
  Event copy;
  if (!EventTable::instance().with(handle, [&](std::shared_ptr<Event>& event) { copy = *event; }))
    return stale_event(name, handle);
  return copy;
}

// The task of aclrtResetEvent.
struct ResetPlan {
  void* event;
  std::weak_ptr<Marker> reset;  // the record to reset
};

Fault run_reset(const void* plan, const TaskIo&) {
  const auto& reset = *static_cast<const ResetPlan*>(plan);
  const std::shared_ptr<Marker> old = reset.reset.lock();
  EventTable::instance().with(reset.event, [&](std::shared_ptr<Event>& event) {
    if (event->latest == old) event->latest = nullptr;
  });
  return {};
}

}  // namespace

Result<void*> create_event(bool timed) {
  OPENACLNN_TRY(current_context().status());
  void* handle = EventTable::instance().insert(std::make_shared<Event>(Event{timed, nullptr}));
  if (handle == nullptr) return Status(ACL_ERROR_RT_MEMORY_ALLOCATION, "every event number is in use");
  return handle;
}

Status destroy_event(void* event) {
  return EventTable::instance().remove(event) != nullptr ? Status() : stale_event("event", event);
}

Status record_event(void* handle, aclrtStream stream) {
  OPENACLNN_TRY_ASSIGN(target, find_stream(stream));
  OPENACLNN_TRY(look_up("event", handle).status());
  // Runs without the event's lock: without workers, record() may run tasks that became ready on this thread.
  const std::shared_ptr<Marker> marker = target->queue->record();
  if (marker == nullptr) return closed_stream();
  const bool live =
      EventTable::instance().with(handle, [&](std::shared_ptr<Event>& event) { event->latest = marker; });
  return live ? Status() : stale_event("event", handle);
}

Status reset_event(void* handle, aclrtStream stream) {
  OPENACLNN_TRY_ASSIGN(target, find_stream(stream));
  OPENACLNN_TRY_ASSIGN(event, look_up("event", handle));
  if (event.latest == nullptr) return {};
  Task task;
  task.name = "aclrtResetEvent";
  task.run = run_reset;
  task.on_host = true;
  task.plan = std::make_shared<const ResetPlan>(ResetPlan{handle, event.latest});
  return target->queue->enqueue(std::move(task)) ? Status() : closed_stream();
}

Status stream_wait_event(aclrtStream stream, void* handle) {
  OPENACLNN_TRY_ASSIGN(target, find_stream(stream));
  OPENACLNN_TRY_ASSIGN(event, look_up("event", handle));
  if (event.latest == nullptr) return {};
  return target->queue->wait_for(event.latest) ? Status() : closed_stream();
}

Result<bool> event_complete(void* handle) {
  OPENACLNN_TRY_ASSIGN(event, look_up("event", handle));
  return event.latest == nullptr || event.latest->complete();
}

Status synchronize_event(void* handle, Deadline deadline) {
  OPENACLNN_TRY_ASSIGN(event, look_up("event", handle));
  if (event.latest == nullptr) return {};
  Marker& marker = *event.latest;
  if (marker.synchronize(deadline) == WaitResult::timed_out) {
    return {ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
            "timeout expired: event has not been reached; the stream's tasks continue to run"};
  }
  return marker.fault_cell->take(marker.task_number);
}

Result<float> elapsed_milliseconds(void* start_handle, void* end_handle) {
  OPENACLNN_TRY_ASSIGN(start, look_up("startEvent", start_handle));
  OPENACLNN_TRY_ASSIGN(end, look_up("endEvent", end_handle));
  const auto unusable = [](const char* name, const Event& event) -> Status {
    const char* why = event.latest == nullptr     ? " was never recorded"
                      : !event.timed              ? " was created without ACL_EVENT_TIME_LINE"
                      : !event.latest->complete() ? " has not been reached yet"
                                                  : nullptr;
    if (why == nullptr) return {};
    return {ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
            std::string(name) + why + "; both events must be timed, recorded and reached"};
  };
  OPENACLNN_TRY(unusable("startEvent", start));
  OPENACLNN_TRY(unusable("endEvent", end));
  const double elapsed = end.latest->milliseconds_since(*start.latest);
  if (elapsed < 0) {
    return Status(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "endEvent was reached before startEvent; swap them");
  }
  return static_cast<float>(elapsed);
}

void remove_all_events() {
  EventTable::instance().remove_where([](const Event&) { return true; }, [](const auto&) {});
}

}  // namespace openaclnn
