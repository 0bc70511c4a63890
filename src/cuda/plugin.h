// The interface between libopenaclnn.so and the CUDA plugin: one exported function, which returns a table of
// functions.
//
// The library knows nothing about CUDA, and the plugin nothing about handles: streams and events are
// addresses that only the plugin interprets. Both come from the same build, which `build` verifies, so plans
// are passed without conversion.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/env.h"
#include "cuda/side_stream_handles.h"
#include "cuda/upload_piece.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

// The result of a function of the table. error_text() returns the error message.
enum class PluginStatus : int {
  done,
  not_ready,      // queries only: earlier work is still pending
  out_of_memory,  // the device, or the driver for its own use, is out of memory
  captured,       // rejected: the event is a point in a CUDA graph and not in time
  refused,        // this call failed, but the device continues
  lost,           // the device's context is destroyed: no later call on it can succeed
};

// A task of an operator.
struct OperatorTask {
  const char* name;  // as in Operator::name
  const void* plan;
  const std::array<void*, kMaxParameters>* data;
  void* workspace;
  CheckMode check;
  void* const* elements;      // of lists, or nullptr
  Fault* fault;               // from allocate_host()
  LargestUploadPiece* piece;  // of the queue, which passes one task at a time
  SideStream* side;           // likewise
};

struct PluginTable {
  uint64_t table_bytes;  // sizeof(PluginTable)
  const char* build;     // OPENACLNN_CUDA_BUILD

  // Returns the number of usable devices, or 0 and the reason.
  int (*device_count)(const char** why_none);
  // Describes the calling thread's last failure: "cudaErrorIllegalAddress: an illegal memory access was
  // encountered".
  const char* (*error_text)();
  // Returns a name such as "NVIDIA H200". The text is valid until the calling thread's next call.
  PluginStatus (*device_name)(int device, const char** name);

  // Memory. Host memory is pinned, and all devices access it at the same address.
  PluginStatus (*allocate)(int device, size_t bytes, void** address);
  PluginStatus (*free)(int device, void* address);
  PluginStatus (*allocate_host)(int device, size_t bytes, void** address);
  PluginStatus (*free_host)(int device, void* address);
  PluginStatus (*memory_info)(int device, size_t* free_bytes, size_t* total_bytes);
  PluginStatus (*can_access_peer)(int device, int peer, int* can);
  PluginStatus (*enable_peer_access)(int device, int peer);

  // Streams and the default stream of CUDA do not wait for each other. Copies determine the location of
  // memory themselves. CUDA does not specify when it reads or writes pageable host memory. Copies report
  // whether they involve such memory, so that the caller can wait for them.
  PluginStatus (*create_stream)(int device, void** stream);
  PluginStatus (*destroy_stream)(int device, void* stream);
  PluginStatus (*query_stream)(int device, void* stream);
  PluginStatus (*synchronize_stream)(int device, void* stream);
  PluginStatus (*is_capturing)(int device, void* stream, int* capturing);  // into a CUDA graph
  PluginStatus (*copy_async)(int device, void* stream, void* destination, const void* source, size_t bytes,
                             int* is_pageable);
  PluginStatus (*fill_async)(int device, void* stream, void* destination, int value, size_t bytes);
  PluginStatus (*call_async)(int device, void* stream, void (*function)(void*),
                             void* argument);  // runs on the host
  PluginStatus (*run)(int device, void* stream, const OperatorTask* task);

  PluginStatus (*create_event)(int device, int timed, void** event);
  PluginStatus (*destroy_event)(int device, void* event);
  PluginStatus (*record_event)(int device, void* event, void* stream);
  PluginStatus (*query_event)(int device, void* event);
  PluginStatus (*synchronize_event)(int device, void* event);
  PluginStatus (*wait_event)(int device, void* stream, void* event);
  PluginStatus (*elapsed)(int device, void* start, void* end, float* milliseconds);
};

// The plugin's exported function.
using GetPluginTable = const PluginTable* (*)();
inline constexpr const char* kGetPluginTable = "openaclnn_cuda_plugin";

}  // namespace openaclnn::cuda
