// One thread of the soak test: jobs in batches over several streams, injected errors in between, every
// result compared.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "soak/job.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

struct Tally {
  std::atomic<int64_t> calls{0};     // both phases succeeded, and the result was right
  std::atomic<int64_t> mistakes{0};  // calls that had to fail, and returned the expected code
  std::atomic<int64_t> faults{0};    // bad data that a synchronise reported, as expected
  std::atomic<int64_t> wrong{0};     // all unexpected results; explained on stderr
};

class Worker {
 public:
  Worker(const std::vector<Case>& cases, uint64_t seed, Tally& tally);
  ~Worker();

  // The allocator keeps as many blocks as there were at most at once, in pieces of 2 MiB. Each worker
  // therefore holds the workspaces of all its jobs until all workers do, and no later moment can need more.
  void release_workspaces();
  void batch();
  size_t jobs() const { return jobs_.size(); }

 private:
  static constexpr size_t kStreams = 3;

  // A job with its share of batches: large tensors take time and do not test objects better.
  struct Member {
    std::unique_ptr<Job> job;
    int one_batch_in;
  };

  void hold_workspace(const Job& job);
  void call(const Job& job);
  aclrtStream next_stream();
  void renew_objects();
  void finish_batch();

  void make_a_mistake(const Job& job);
  void phase1_mistake(const Job& job);
  void executor_mistake(const Job& job);
  void runtime_mistake();
  void index_fault();

  // Counts a violation unless `got` is `wanted`. A failure must have an error message, which this clears.
  bool expect(int wanted, int got, const char* what);
  void violation(const std::string& what);

  Random random_;
  Tally& tally_;
  std::vector<Member> jobs_;
  std::vector<void*> held_;
  std::vector<const Job*> running_;
  std::array<aclrtStream, kStreams> streams_ = {};
  std::array<aclrtEvent, 2> events_ = {};
  size_t last_stream_ = 0;
  int64_t batches_ = 0;
  HostTensor table_, bad_indices_, rows_;
};

}  // namespace openaclnn_test
