// The emulation of CUDA's device language: the scheduler of fibers, barriers and warp operations.
#include "cuda/simt/device_language.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cuda/simt/fiber.h"
#include "cuda/simt/races.h"

constinit thread_local uint3 threadIdx = {}, blockIdx = {};
constinit thread_local dim3 blockDim = {}, gridDim = {};

namespace openaclnn::simt {

namespace {

constexpr unsigned kWarp = 32;

[[noreturn]] void report(const std::string& sentence) {
  std::fprintf(stderr, "openaclnn SIMT emulation: %s\n", sentence.c_str());
  std::abort();
}

std::string text_of(const Where& where) { return std::string(where.file) + ":" + std::to_string(where.line); }

Schedule schedule_of_environment() {
  const char* const value = std::getenv("OPENACLNN_SIMT_SCHEDULE");
  if (value == nullptr || *value == '\0' || std::strcmp(value, "forward") == 0) return Schedule::forward;
  if (std::strcmp(value, "reverse") == 0) return Schedule::reverse;
  report(std::string("OPENACLNN_SIMT_SCHEDULE is \"") + value + "\"; it must be forward or reverse");
}

std::atomic<Schedule>& schedule() {
  static std::atomic<Schedule> chosen{schedule_of_environment()};
  return chosen;
}

std::atomic<LaunchHook> launch_hook{nullptr};

// One CUDA thread of the running block.
struct Thread {
  enum State { not_started, runs, waits, done } state = not_started;
  uint64_t collectives = 0;          // warp operations so far
  const uint64_t* passed = nullptr;  // the generation that ends the wait
  uint64_t awaited = 0;              // its value before
  const char* operation = "";        // the operation that it waits in
  Where where;
  Fiber* fiber = nullptr;
};

// A warp operation in progress. Two alternate: a third cannot start before all lanes have left the first.
struct Exchange {
  uint64_t words[kWarp] = {};
  unsigned arrived = 0;
  const char* operation = nullptr;
  Where where;
};
struct Warp {
  Exchange exchanges[2];
  MeetingPoint points[2];
  uint64_t generation = 0;
  unsigned lanes = 0;  // existing lanes
};

// The data that a host thread needs to run blocks; kept for the next launch.
struct Block {
  const KernelLaunch* launch = nullptr;
  bool reversed = false;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  uint64_t generation = 0;  // number of passed barriers
  size_t at_barrier = 0;
  Where barrier;                         // threads that wait there
  MeetingPoint begin, barriers[2], end;  // two alternate, as those of warps
  size_t started = 0;                    // in the order of the schedule
  size_t done = 0;
  size_t current = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;

  size_t in_order(size_t n) const { return reversed ? threads.size() - 1 - n : n; }
  void make_current(size_t thread) {
    current = thread;
    const unsigned t = static_cast<unsigned>(thread);
    threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
  }
  bool begin_next() {
    if (started == threads.size()) return false;
    make_current(in_order(started++));
    threads[current].state = Thread::runs;
    return true;
  }
  void start();
  void run_threads();
  void wait(const char* operation, const uint64_t& generation_of, const Where& where);
  [[noreturn]] void report_deadlock() const;
};

Block& block() {
  thread_local Block of_this_thread;
  return of_this_thread;
}

// ---- one block ----

// The body of a fiber: it runs the threads of a block one after the other until one has to wait, or all
// have started.
void run_fiber(Fiber& self) {
  for (;;) {
    Block& b = block();
    do {
      b.threads[b.current].fiber = &self;
      b.begin.observe();
      b.launch->thread();
      b.end.publish();
      b.threads[b.current].state = Thread::done;
      ++b.done;
    } while (!kWatchesRaces && b.begin_next());
    if (!kWatchesRaces) b.idle.push_back(&self);
    self.leave();
  }
}

void Block::start() {
  const size_t count = size_t{blockDim.x} * blockDim.y * blockDim.z;
  threads.assign(count, Thread());
  warps.assign((count + kWarp - 1) / kWarp, Warp());
  for (size_t t = 0; t < count; ++t) warps[t / kWarp].lanes |= 1u << t % kWarp;
  at_barrier = started = done = 0;
  if (kWatchesRaces) {  // accesses of two threads of a block on one fiber would count as ordered
    idle.clear();
    for (const auto& fiber : fibers) idle.push_back(fiber.get());
  }
  begin.publish();
}

// Runs the threads in passes until all are done. A pass without progress is a deadlock.
void Block::run_threads() {
  while (done < threads.size()) {
    bool progress = false;
    for (size_t n = 0; n < threads.size(); ++n) {
      const size_t t = in_order(n);
      Thread& thread = threads[t];
      if (thread.state == Thread::not_started) {
        if (idle.empty()) {
          fibers.push_back(std::make_unique<Fiber>(run_fiber));
          idle.push_back(fibers.back().get());
        }
        Fiber* const fiber = idle.back();
        idle.pop_back();
        begin_next();  // this is t: threads start in the order of the schedule
        fiber->enter();
        progress = true;
      } else if (thread.state == Thread::waits && *thread.passed != thread.awaited) {
        make_current(t);
        thread.state = Thread::runs;
        thread.fiber->enter();
        progress = true;
      }
    }
    if (!progress) report_deadlock();
  }
  end.observe();
}

void Block::wait(const char* operation, const uint64_t& generation_of, const Where& where) {
  Thread& thread = threads[current];
  thread.state = Thread::waits;
  thread.passed = &generation_of;
  thread.awaited = generation_of;
  thread.operation = operation;
  thread.where = where;
  thread.fiber->leave();
}

void Block::report_deadlock() const {
  std::string sentence = "block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                         std::to_string(blockIdx.z) + ") cannot go on: " + std::to_string(done) + " of " +
                         std::to_string(threads.size()) + " threads have returned";
  const Thread* last = nullptr;
  for (size_t t = 0; t < threads.size(); ++t) {
    const Thread& thread = threads[t];
    if (thread.state != Thread::waits) continue;
    const bool as_before =
        last != nullptr && last->operation == thread.operation && last->where.line == thread.where.line;
    if (!as_before) {
      sentence += "; from thread " + std::to_string(t) + " on they wait in " + thread.operation + " at " +
                  text_of(thread.where);
    }
    last = &thread;
  }
  report(sentence);
}

}  // namespace

// ---- functions that threads call ----

void wait_for_block(const Where& where) {
  Block& b = block();
  if (b.at_barrier == 0) {
    b.barrier = where;
  } else if (b.barrier.line != where.line) {
    report("threads of one block wait in __syncthreads at " + text_of(b.barrier) + " and at " +
           text_of(where));
  }
  MeetingPoint& point = b.barriers[b.generation % 2];
  point.publish();
  if (++b.at_barrier < b.threads.size()) {
    b.wait("__syncthreads", b.generation, where);
  } else {
    b.at_barrier = 0;
    ++b.generation;
  }
  point.observe();
}

// The only warp operation that orders memory.
void wait_for_warp(unsigned mask, const Where& where) {
  Block& b = block();
  MeetingPoint& point = b.warps[b.current / kWarp].points[b.threads[b.current].collectives % 2];
  point.publish();
  exchange("__syncwarp", mask, 0, where);
  point.observe();
}

unsigned lane() { return static_cast<unsigned>(block().current % kWarp); }

const uint64_t* exchange(const char* operation, unsigned mask, uint64_t value, const Where& where) {
  Block& b = block();
  Warp& warp = b.warps[b.current / kWarp];
  Thread& thread = b.threads[b.current];
  if ((mask & warp.lanes) != warp.lanes) {
    report("a mask in " + std::string(operation) + " at " + text_of(where) +
           " leaves out lanes of the warp; the emulation knows operations of whole warps only");
  }
  Exchange& exchange = warp.exchanges[thread.collectives++ % 2];
  if (exchange.arrived == 0) {
    exchange.operation = operation;
    exchange.where = where;
  } else if (exchange.where.line != where.line || std::strcmp(exchange.operation, operation) != 0) {
    report("lanes of one warp diverge: thread " + std::to_string(b.current) + " of its block is in " +
           operation + " at " + text_of(where) + ", another lane in " + exchange.operation + " at " +
           text_of(exchange.where));
  }
  exchange.words[b.current % kWarp] = value;
  exchange.arrived |= 1u << b.current % kWarp;
  if (exchange.arrived == warp.lanes) {
    exchange.arrived = 0;
    ++warp.generation;
  } else {
    b.wait(operation, warp.generation, where);
  }
  return exchange.words;
}

// ---- launches ----

void set_schedule(Schedule chosen) { schedule().store(chosen); }
void set_launch_hook(LaunchHook hook) { launch_hook.store(hook); }

int check(const KernelLaunch& launch) {
  constexpr int kInvalidConfiguration = 9;
  constexpr uint64_t kMostThreads = 1024, kMostSharedBytes = 48 * 1024, kMostInX = 0x7FFFFFFF,
                     kMostInYAndZ = 0xFFFF;
  const auto product = [](const dim3& d) { return uint64_t{d.x} * d.y * d.z; };
  const bool fits = product(launch.grid) > 0 && product(launch.block) > 0 && launch.grid.x <= kMostInX &&
                    launch.grid.y <= kMostInYAndZ && launch.grid.z <= kMostInYAndZ &&
                    product(launch.block) <= kMostThreads && launch.shared_bytes <= kMostSharedBytes;
  return fits ? 0 : kInvalidConfiguration;
}

void run(const KernelLaunch& launch) {
  Block& b = block();
  b.launch = &launch;
  b.reversed = schedule().load() == Schedule::reverse;
  blockDim = launch.block;
  gridDim = launch.grid;
  const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (uint64_t n = 0; n < blocks; ++n) {
    const uint64_t number = b.reversed ? blocks - 1 - n : n;
    blockIdx = {static_cast<unsigned>(number % launch.grid.x),
                static_cast<unsigned>(number / launch.grid.x % launch.grid.y),
                static_cast<unsigned>(number / launch.grid.x / launch.grid.y)};
    b.start();
    b.run_threads();
  }
}

int enqueue(void* stream, KernelLaunch&& launch) {
  if (const int error = check(launch); error != 0) return error;
  if (const LaunchHook hook = launch_hook.load()) return hook(stream, std::move(launch));
  run(launch);
  return 0;
}

}  // namespace openaclnn::simt

void __threadfence() {
  static std::atomic<unsigned> order;
  order.fetch_add(1, std::memory_order_acq_rel);
}
