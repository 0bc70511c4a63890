// The wall: the body of every extern "C" function runs inside guard(). No exception leaves the library, and
// every failure becomes a code and an error message.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/status.h"
#include "base/text.h"
#include "runtime/device_failure.h"
#include "runtime/error_text.h"

namespace openaclnn {

// The codes for escaped exceptions: allocation failures, device failures, and others.
struct WallCodes {
  int allocation;
  int device;
  int internal;
};

inline constexpr WallCodes kRuntimeWall = {207001, 507000, 507000};  // acl*, aclrt*
inline constexpr WallCodes kMetaWall = {561101, 561000, 561000};     // tensors, arrays, executors, phase 1
inline constexpr WallCodes kLaunchWall = {361001, 361001, 561000};   // phase 2
inline constexpr const char* kAllocationSentence =
    "EL0004 Failed to allocate memory for the call's own bookkeeping";

// Exhausted memory of a device has a message of its own.
inline const char* sentence_of(const std::bad_alloc& error) {
  return dynamic_cast<const DeviceMemoryFailure*>(&error) != nullptr ? error.what() : kAllocationSentence;
}

// Runs `body`, which returns a Status, and returns its code. Adds the error message of a failure to this
// thread's messages.
template <class Body>
int guard(const char* function, WallCodes codes, Body&& body) noexcept {
  Status status;
  try {
    status = std::forward<Body>(body)();
    if (status.ok()) return 0;
    add_error_line(function, status.sentence(), status.code());
    return status.code();
  } catch (const std::bad_alloc& error) {
    add_error_line(function, sentence_of(error), codes.allocation);
    return codes.allocation;
  } catch (const DeviceFailure& failure) {
    const int code = failure.code(codes.device);
    add_error_line(function, failure.what(), code);
    return code;
  } catch (const std::exception& error) {
    add_error_line(function, error.what(), codes.internal);
    return codes.internal;
  } catch (...) {
    add_error_line(function, "an exception of unknown type was caught at the library's boundary",
                   codes.internal);
    return codes.internal;
  }
}

// Like guard(), for aclrt* functions: also stores a failure as this thread's last error.
template <class Body>
int runtime_guard(const char* function, Body&& body) noexcept {
  const int code = guard(function, kRuntimeWall, std::forward<Body>(body));
  if (code != 0) last_runtime_error() = code;
  return code;
}

// Like guard(), for functions that return a pointer: returns nullptr after a failure.
template <class Pointer, class Body>
Pointer* create_guard(const char* function, Body&& body) noexcept {
  Pointer* created = nullptr;
  const int code = guard(function, kMetaWall, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(made, body());
    created = static_cast<Pointer*>(made);
    return {};
  });
  return code == 0 ? created : nullptr;
}

}  // namespace openaclnn
