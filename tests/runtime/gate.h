// A gate holds a stream at a task for exactly as long as a test needs, so that no test depends on timing.
//
// The task writes to a protected page. The signal handler blocks the worker thread until the gate opens,
// makes the page writable and returns. The interrupted instruction then runs again. Only the handler makes it
// writable: so even a thread that comes after open() passes the handler, which orders it behind open().
#pragma once

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "acl/acl.h"

namespace runtime_test {

class Gate {
 public:
  Gate() {
    install_handler();
    page_ = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page_ == MAP_FAILED || pipe(pipe_.data()) != 0) std::abort();
    sem_init(&reached_, 0, 0);
    for (std::atomic<Gate*>& slot : gates()) {
      Gate* expected = nullptr;
      if (slot.compare_exchange_strong(expected, this)) return;
    }
    std::abort();  // more gates at once than kMost
  }
  // The streams that pass here must have been synchronised, or never reach the gate.
  ~Gate() {
    open();
    for (std::atomic<Gate*>& slot : gates()) {
      Gate* self = this;
      slot.compare_exchange_strong(self, nullptr);
    }
    close(pipe_[0]);
    munmap(page_, kPageBytes);
    sem_destroy(&reached_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Puts the gate into a stream: tasks behind it do not start before open().
  int enqueue(aclrtStream stream) { return aclrtMemsetAsync(page_, kPageBytes, 0, 1, stream); }

  // Memory of zeros that blocks any thread that accesses it, for a task that is to stop in the middle.
  void* memory() const { return page_; }

  // Returns once a thread has reached the gate.
  void wait_until_reached() {
    while (sem_wait(&reached_) != 0) {
    }
  }

  void open() {
    if (is_open_.exchange(true)) return;
    close(pipe_[1]);  // readers of the other end get end-of-file
  }

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kMost = 16;

  static std::array<std::atomic<Gate*>, kMost>& gates() {
    static std::array<std::atomic<Gate*>, kMost> all = {};
    return all;
  }
  static struct sigaction& previous() {
    static struct sigaction action = {};
    return action;
  }

  static void install_handler() {
    static const bool installed = [] {
      gates();
      previous();  // created now: the handler must not initialise anything
      struct sigaction action = {};
      action.sa_sigaction = handle;
      action.sa_flags = SA_SIGINFO | SA_NODEFER;
      return sigaction(SIGSEGV, &action, &previous()) == 0;
    }();
    if (!installed) std::abort();
  }

  static void handle(int, siginfo_t* info, void*) {
    const char* address = static_cast<const char*>(info->si_addr);
    for (std::atomic<Gate*>& slot : gates()) {
      Gate* gate = slot.load();
      if (gate == nullptr) continue;
      const char* page = static_cast<const char*>(gate->page_);
      if (address < page || address >= page + kPageBytes) continue;
      sem_post(&gate->reached_);
      char unused = 0;
      while (read(gate->pipe_[0], &unused, 1) > 0) {
      }
      (void)gate->is_open_.load();  // what the opener did before is visible here, also to thread sanitizer
      mprotect(gate->page_, kPageBytes, PROT_READ | PROT_WRITE);
      return;
    }
    sigaction(SIGSEGV, &previous(), nullptr);  // not ours: the instruction faults again, without a handler
  }

  void* page_ = nullptr;
  std::array<int, 2> pipe_ = {-1, -1};
  sem_t reached_;
  std::atomic<bool> is_open_{false};
};

}  // namespace runtime_test
