// Writes that fail with an error code where the system would end the process.
#pragma once

#include <csignal>
#include <ctime>

namespace openaclnn {

// While one exists, a write of this thread to a pipe without readers or beyond the limit of file sizes (RLIMIT_FSIZE) sends no
// signal. The dispositions of SIGPIPE and SIGXFSZ belong to the program, so the signals are blocked and taken instead.
class QuietSignals {
 public:
  QuietSignals() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&taken_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 0) sigaddset(&taken_, signal);  // the program's own stay
    }
    pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  }
  ~QuietSignals() {
    const timespec now = {};
    while (sigtimedwait(&taken_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t taken_, before_;
};

}  // namespace openaclnn
