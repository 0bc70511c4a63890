// Makes writes fail with an error code where a signal would end the process.
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace openaclnn {

// While an object exists, writes of this thread to a pipe without readers, or beyond the file size limit
// (RLIMIT_FSIZE), raise no signal. The dispositions of SIGPIPE and SIGXFSZ belong to the program, so the
// object blocks and consumes the signals.
class QuietSignals {
 public:
  QuietSignals() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&taken_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 0) sigaddset(&taken_, signal);  // the program's stay pending
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
