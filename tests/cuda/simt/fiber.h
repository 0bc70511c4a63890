// A separate stack for code that can be left in the middle and entered again.
#pragma once

#include <cstddef>

#include "cuda/simt/races.h"

namespace openaclnn::simt {

class Fiber {
 public:
  // `run` gets the fiber and never returns.
  explicit Fiber(void (*run)(Fiber& self));
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Continues the fiber, always on the thread that created it, until leave().
  void enter();
  void leave();

 private:
  static void main();

  void (*const run_)(Fiber& self);
  void* memory_;
  void* inside_;   // where the fiber continues
  void* outside_;  // where the caller of the fiber continues
  // AddressSanitizer's data about the stacks.
  void* fake_stack_ = nullptr;
  void* callers_fake_stack_ = nullptr;
  const void* callers_stack_ = nullptr;
  size_t callers_stack_bytes_ = 0;
  RaceContext race_context_;
};

}  // namespace openaclnn::simt
