// The worker pool: idle workers spin briefly before they sleep, because a fork-join of microseconds cannot
// wait for the kernel to wake a thread. Workers never end, and nothing of the pool is ever destroyed.
#include "cpu/worker_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

#include "base/cancellation.h"
#include "cpu/scratch.h"

namespace openaclnn::cpu {

namespace {

using Clock = std::chrono::steady_clock;

// How long an idle worker spins: longer than a training program takes from one operator to the next. After
// kLookWithoutYield it yields its core to any other thread.
constexpr auto kLook = std::chrono::microseconds(100);
constexpr auto kLookWithoutYield = std::chrono::microseconds(20);
// How long a request is left to the thread that made it: longer than from phase 2 to a following synchronize.
constexpr auto kGrace = std::chrono::microseconds(3);
// How long to wait before requesting a thread again after a failure: short for users, long compared to the 20
// us of a request.
constexpr auto kRetry = std::chrono::milliseconds(10);
// Enough for every kernel: frames have at most 16 KiB.
constexpr size_t kLeastStackBytes = size_t{64} << 10;

thread_local int number_of_this_worker = 0;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Spins until done(), until the deadline, or until the time in `looked` reaches kLook. Time in which another
// thread used this core counts little: the system never moves a thread that sleeps instead of waiting to a
// free core.
template <class Done>
void look(Clock::duration& looked, Clock::time_point deadline, const Done& done) {
  constexpr Clock::duration kMostCounted = std::chrono::microseconds(3);
  Clock::time_point before = Clock::now();
  while (looked < kLook) {
    for (int k = 0; k < 32; ++k) {
      if (done()) return;
      pause_briefly();
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return;
    looked += std::min(now - before, kMostCounted);
    before = now;
    if (looked > kLookWithoutYield) sched_yield();
  }
}

// The scratch memory of a worker. The creating thread allocates it, because it can handle a failed
// allocation.
struct WorkerScratch {
  WorkerScratch* next;
  Scratch scratch;
};

// A running run(): on its caller's stack, and in the pool's list while helpers may join.
struct Team {
  void (*function)(void*);
  void* argument;
  int places;                  // places for helpers
  std::atomic<int> inside{0};  // helpers at work
  Team* previous;
  Team* next = nullptr;
};

class OwnWorkerPool final : public WorkerPool {
 public:
  explicit OwnWorkerPool(int num_threads) : num_threads_(num_threads) {}

  int num_threads() const override { return num_threads_; }

  bool submit(void (*function)(void*), void* argument) noexcept override {
    {
      Lock lock(mutex_);
      function_ = function;
      argument_ = argument;
      if (requests_ == num_threads_)
        return true;  // all workers are already requested, and work until nothing is left
      if (requests_++ == 0) requested_ = Clock::now();
      ++wanted_;
      call_workers(lock);
      if (workers_ == 0) {
        --requests_;
        --wanted_;
        return false;
      }
    }
    posts_.fetch_add(1, std::memory_order_release);
    return true;
  }

  void withdraw() noexcept override {
    const Lock lock(mutex_);
    wanted_ -= requests_;
    requests_ = 0;
  }

  void run(int threads, void (*function)(void*), void* argument) noexcept override {
    const int helpers = std::min(threads, num_threads_) - 1;
    if (helpers < 1) return function(argument);
    Team team{function, argument, helpers, {}, nullptr};
    open(team);
    function(argument);
    close(team);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void open(Team& team) {
    {
      Lock lock(mutex_);
      team.previous = last_;
      last_->next = &team;
      last_ = &team;
      wanted_ += team.places;
      call_workers(lock);
    }
    // After releasing the lock, so that a worker that sees the post does not contend for the lock.
    posts_.fetch_add(1, std::memory_order_release);
  }

  // Stops helpers from joining and waits for those that have joined.
  void close(Team& team) {
    {
      const Lock lock(mutex_);
      team.previous->next = team.next;
      (team.next != nullptr ? team.next->previous : last_) = team.previous;
      wanted_ -= team.places;
    }
    const auto empty = [&] { return team.inside.load() == 0; };
    if (empty()) return;
    Clock::duration looked = {};
    look(looked, Clock::time_point::max(), empty);
    if (empty()) return;
    const CancellationHold no_cancellation;
    Lock lock(mutex_);
    ++waiting_;
    left_.wait(lock, empty);
    --waiting_;
  }

  // Wakes or creates workers for the free places.
  void call_workers(const Lock&) {
    for (int missing = wanted_ - looking_; missing > 0; --missing) {
      if (sleeping_ > 0) {
        wake_.notify_one();
        ++woken_;
        --sleeping_;
        ++looking_;
      } else if (workers_ == num_threads_ || !add_worker()) {
        return;
      }
    }
  }

  bool add_worker() {
    // A failed request takes the system longer than many tasks take, so it is repeated only once per kRetry.
    if (refused_ && Clock::now() < retry_) return false;
    std::unique_ptr<WorkerScratch> scratch(new (std::nothrow) WorkerScratch);
    refused_ = scratch == nullptr || !start_worker();
    if (refused_) {
      retry_ = Clock::now() + kRetry;
      return false;
    }
    scratch->next = not_taken_;
    not_taken_ = scratch.release();
    ++workers_;
    ++looking_;
    return true;
  }

  bool start_worker() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // The program may have set a smaller default, or a parent process (ulimit -s).
    size_t stack_bytes = 0;
    if (pthread_attr_getstacksize(&attributes, &stack_bytes) == 0 && stack_bytes < kLeastStackBytes)
      pthread_attr_setstacksize(&attributes, kLeastStackBytes);
    pthread_t thread;
    const auto start = [](void* pool) -> void* {
      static_cast<OwnWorkerPool*>(pool)->work();
      return nullptr;
    };
    // External signals are for the application's threads. Signals that a worker's own instructions raise stay
    // deliverable, because the application may have a handler for them.
    sigset_t from_outside, before;
    sigfillset(&from_outside);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&from_outside, own);
    pthread_sigmask(SIG_SETMASK, &from_outside, &before);
    const bool is_started = pthread_create(&thread, &attributes, start, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return is_started;
  }

  [[noreturn]] void work() {
    Lock lock(mutex_);
    number_of_this_worker = ++numbers_;
    const ScopedScratch scratch(not_taken_->scratch);
    not_taken_ = not_taken_->next;
    Clock::duration looked = {};  // since the last work
    while (true) {
      if (take_place(lock) || answer_request(lock)) {
        looked = {};
      } else if (requests_ > 0 || (may_look(lock) && looked < kLook)) {
        const uint64_t seen = posts_.load(std::memory_order_acquire);
        const Clock::time_point deadline = requests_ > 0 ? requested_ + kGrace : Clock::time_point::max();
        if (requests_ > 0) looked = {};
        lock.unlock();
        look(looked, deadline, [&] { return posts_.load(std::memory_order_acquire) != seen; });
        lock.lock();
      } else {
        --looking_;
        ++sleeping_;
        wake_.wait(lock, [this] { return woken_ > 0; });
        --woken_;  // the waking thread counted it as looking
        looked = {};
      }
    }
  }

  // Spinning and helping workers leave one core free for the thread that they may help: the application's or
  // a worker.
  bool may_look(const Lock&) const {
    return workers_ - sleeping_ - answering_ <= std::max(1, num_threads_ - 1);
  }

  // Helps a team with a free place; returns false if there is none.
  bool take_place(Lock& lock) {
    Team* team = first_.next;
    while (team != nullptr && team->places == 0) team = team->next;
    if (team == nullptr) return false;
    --team->places;
    --wanted_;
    --looking_;
    team->inside.fetch_add(1);
    lock.unlock();
    team->function(team->argument);
    team->inside.fetch_sub(1);  // from here on the team may no longer exist
    lock.lock();
    if (waiting_ > 0) left_.notify_all();
    ++looking_;
    return true;
  }

  bool answer_request(Lock& lock) {
    if (requests_ == 0 || Clock::now() < requested_ + kGrace) return false;
    --requests_;
    --wanted_;
    --looking_;
    ++answering_;
    const auto function = function_;
    void* const argument = argument_;
    lock.unlock();
    function(argument);
    lock.lock();
    --answering_;
    ++looking_;
    return true;
  }

  const int num_threads_;

  std::mutex mutex_;
  std::condition_variable wake_;    // for workers
  std::condition_variable left_;    // for callers: a helper left its team
  std::atomic<uint64_t> posts_{0};  // changes whenever there may be new work

  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  int requests_ = 0;             // unanswered requests of submit()
  Clock::time_point requested_;  // time of the first of these requests

  Team first_{nullptr, nullptr, 0, {}, nullptr};  // sentinel: the list starts after it
  Team* last_ = &first_;

  int wanted_ = 0;   // requests, and free places of all teams
  int workers_ = 0;  // existing workers; each answers a request, helps a team, spins or sleeps
  int answering_ = 0;
  int looking_ = 0;  // spinning, or about to
  int sleeping_ = 0;
  int woken_ = 0;                       // among looking_: notified, not yet awake
  int waiting_ = 0;                     // callers in close()
  int numbers_ = 0;                     // numbers given to workers
  WorkerScratch* not_taken_ = nullptr;  // for workers that have not started
  bool refused_ = false;                // the system refused the last requested thread
  Clock::time_point retry_;             // when to request again
};

}  // namespace

int worker_number() { return number_of_this_worker; }

WorkerPool* make_worker_pool(int num_threads) noexcept {
  return new (std::nothrow) OwnWorkerPool(num_threads);
}

}  // namespace openaclnn::cpu
