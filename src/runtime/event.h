// Events: a handle that refers to the latest marker recorded in a stream.
#pragma once

#include <memory>

#include "acl/acl_rt.h"
#include "base/status.h"
#include "runtime/device.h"
#include "runtime/handle.h"

namespace openaclnn {

// Guarded by its table.
struct Event {
  bool timed = false;
  std::shared_ptr<Marker> latest;  // nullptr: never recorded, or reset
};

using EventTable = HandleTable<Event, HandleKind::event>;

Result<void*> create_event(bool timed);
Status destroy_event(void* event);
Status record_event(void* event, aclrtStream stream);
// Resets in stream order. An event that is recorded again before the reset is reached keeps its newer record.
Status reset_event(void* event, aclrtStream stream);
Status stream_wait_event(aclrtStream stream, void* event);

// Returns true if the latest record is reached, or if there is none.
Result<bool> event_complete(void* event);
Status synchronize_event(void* event, Deadline deadline);
Result<float> elapsed_milliseconds(void* start, void* end);

// Destroys all events.
void remove_all_events();

}  // namespace openaclnn
