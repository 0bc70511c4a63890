// Prevents pthread_cancel from ending a thread in the middle of a library call.
#pragma once

#include <pthread.h>

namespace openaclnn {

// Defers cancellation of this thread while the object lives. A pending cancellation takes effect at the
// caller's next cancellation point. The library must hold one wherever it waits or uses a file: cancellation
// unwinds the thread, and nothing may unwind through the wall. The wall itself holds none, because its two
// calls of 10 ns would be too slow for functions of 100 ns.
class CancellationHold {
 public:
  CancellationHold() { (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHold() { (void)pthread_setcancelstate(before_, nullptr); }
  CancellationHold(const CancellationHold&) = delete;
  CancellationHold& operator=(const CancellationHold&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace openaclnn
