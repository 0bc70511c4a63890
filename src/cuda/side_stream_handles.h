// What a queue keeps of a side stream: addresses that only the plugin interprets.
#pragma once

namespace openaclnn::cuda {

// A second stream for parts of a task, with the events that order it before and after the task's stream.
// Operators that need it create it (side_stream.h), and the queue destroys it. nullptr: not created yet.
struct SideStream {
  void* stream = nullptr;
  void* ready = nullptr;
  void* done = nullptr;
};

}  // namespace openaclnn::cuda
