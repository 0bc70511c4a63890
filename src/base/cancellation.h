// Keeps pthread_cancel away from the places of the library where a thread could end in the middle of a call.
#pragma once

#include <pthread.h>

namespace openaclnn {

// Holds a cancellation of this thread back until the object is gone; it stays pending for the caller's next cancellation point.
// Wherever the library waits or uses a file, one of these must be alive: a cancelled thread is unwound, and nothing may be unwound
// through the wall. The wall itself has none, because two calls of 10 ns are much for functions of 100 ns.
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
