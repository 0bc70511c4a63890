// The border between libopenaclnn.so and the CUDA plugin: one exported function, which returns a table of functions.
//
// The library knows nothing of CUDA and the plugin nothing of handles: streams and events are addresses that only the plugin
// understands. Both sides come from one build, which `build` proves, so plans cross the border as they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/env.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

// What a function of the table returns. The sentence is in error_text().
enum class PluginStatus : int {
  done,
  not_ready,      // queries only: there is still work before this point
  out_of_memory,  // of the device, or of what the driver keeps for its own use
  captured,       // refused, because the event is a point in a CUDA graph and not in time
  refused,        // this call failed, the device goes on
  lost,           // the device's context is destroyed: no later call on it can succeed
};

// A task of an operator.
struct OperatorTask {
  const char* name;  // as in Operator::name
  const void* plan;
  const std::array<void*, kMaxParameters>* data;
  void* workspace;
  CheckMode check;
  void* const* elements;  // of lists, or nullptr
  Fault* fault;           // of allocate_host()
};

struct PluginTable {
  uint64_t table_bytes;  // sizeof(PluginTable)
  const char* build;     // OPENACLNN_CUDA_BUILD

  // The number of usable devices; 0 with the reason.
  int (*device_count)(const char** why_none);
  // "cudaErrorIllegalAddress: an illegal memory access was encountered", of the calling thread's last failure.
  const char* (*error_text)();
  // "NVIDIA H200". The text stays until the calling thread asks again.
  PluginStatus (*device_name)(int device, const char** name);

  // Memory. Host memory is pinned, and every device sees it under the same address.
  PluginStatus (*allocate)(int device, size_t bytes, void** address);
  PluginStatus (*free)(int device, void* address);
  PluginStatus (*allocate_host)(int device, size_t bytes, void** address);
  PluginStatus (*free_host)(int device, void* address);
  PluginStatus (*memory_info)(int device, size_t* free_bytes, size_t* total_bytes);
  PluginStatus (*can_access_peer)(int device, int peer, int* can);
  PluginStatus (*enable_peer_access)(int device, int peer);

  // Streams do not wait for the default stream of CUDA, nor it for them. Copies find out themselves where memory lies. CUDA promises
  // nothing about when it reads or writes pageable host memory: copies say whether there is some, for the caller to wait for them.
  PluginStatus (*create_stream)(int device, void** stream);
  PluginStatus (*destroy_stream)(int device, void* stream);
  PluginStatus (*query_stream)(int device, void* stream);
  PluginStatus (*synchronize_stream)(int device, void* stream);
  PluginStatus (*is_capturing)(int device, void* stream, int* capturing);  // into a CUDA graph
  PluginStatus (*copy_async)(int device, void* stream, void* destination, const void* source, size_t bytes,
                             int* is_pageable);
  PluginStatus (*fill_async)(int device, void* stream, void* destination, int value, size_t bytes);
  PluginStatus (*call_async)(int device, void* stream, void (*function)(void*),
                             void* argument);  // on the host
  PluginStatus (*run)(int device, void* stream, const OperatorTask* task);

  PluginStatus (*create_event)(int device, int timed, void** event);
  PluginStatus (*destroy_event)(int device, void* event);
  PluginStatus (*record_event)(int device, void* event, void* stream);
  PluginStatus (*query_event)(int device, void* event);
  PluginStatus (*synchronize_event)(int device, void* event);
  PluginStatus (*wait_event)(int device, void* stream, void* event);
  PluginStatus (*elapsed)(int device, void* start, void* end, float* milliseconds);
};

// The exported function of the plugin.
using GetPluginTable = const PluginTable* (*)();
inline constexpr const char* kGetPluginTable = "openaclnn_cuda_plugin";

}  // namespace openaclnn::cuda
