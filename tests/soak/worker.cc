// Batches and injected errors of one thread. A job runs at most once in a batch, so that each of its
// results is compared.
#include "soak/worker.h"

#include <algorithm>
#include <cstdio>

#include "aclnnop/aclnn_embedding.h"

namespace openaclnn_test {

namespace {

constexpr int64_t kTableRows = 4;
constexpr int64_t kMostPrinted = 20;      // violations
constexpr int64_t kSmallBytes = 2 << 10;  // of a case that is in every batch
constexpr int64_t kMostCopies = 32;       // of a case with tiny tensors

uint64_t phase1(const Job& job, const JobHandles& handles, int& code, aclOpExecutor** executor) {
  uint64_t bytes = 0;
  code = job.description().phase1(handles.get(), &bytes, executor);
  return bytes;
}

}  // namespace

Worker::Worker(const std::vector<Case>& cases, uint64_t seed, Tally& tally)
    : random_(seed),
      tally_(tally),
      table_(ACL_FLOAT, {kTableRows, 2}),
      bad_indices_(ACL_INT64, {3}),
      rows_(ACL_FLOAT, {3, 2}) {
  expect(0, aclrtSetDevice(0), "aclrtSetDevice");
  bad_indices_.set_bits(0, 1);
  bad_indices_.set_bits(1, kTableRows);
  bad_indices_.set_bits(2, 0);
  for (const Case& c : cases) {
    const int64_t bytes = Job::bytes_of(c);
    const int64_t copies = std::clamp<int64_t>(kSmallBytes / bytes, 1, kMostCopies);
    for (int64_t k = 0; k < copies; ++k) {
      const Placement kept = k % 8 == 0 ? Placement::ends_at_guard : Placement::library;
      jobs_.push_back({std::make_unique<Job>(c, kept), static_cast<int>(bytes / kSmallBytes) + 1});
      if (!jobs_.back().job->works()) violation(c.name + " failed at first");
      hold_workspace(*jobs_.back().job);
    }
  }
  renew_objects();
}

Worker::~Worker() {
  for (aclrtStream stream : streams_) expect(0, aclrtDestroyStream(stream), "aclrtDestroyStream");
  for (aclrtEvent event : events_) expect(0, aclrtDestroyEvent(event), "aclrtDestroyEvent");
  expect(0, aclrtResetDevice(0), "aclrtResetDevice");
}

void Worker::violation(const std::string& what) {
  if (tally_.wrong++ < kMostPrinted) std::fprintf(stderr, "WRONG: %s\n", what.c_str());
}

bool Worker::expect(int wanted, int got, const char* what) {
  const std::string text = got == 0 ? "" : take_error_text();
  if (wanted == got && (got == 0 || !text.empty())) return true;
  violation(std::string(what) + " returned " + std::to_string(got) + ", not " + std::to_string(wanted) +
            ": " + text);
  return false;
}

// Streams and events live for only some batches, so that their tables are reused.
void Worker::renew_objects() {
  for (aclrtStream& stream : streams_) {
    if (stream != nullptr) expect(0, aclrtDestroyStream(stream), "aclrtDestroyStream");
    expect(0, aclrtCreateStream(&stream), "aclrtCreateStream");
  }
  for (aclrtEvent& event : events_) {
    if (event != nullptr) expect(0, aclrtDestroyEvent(event), "aclrtDestroyEvent");
    expect(0, aclrtCreateEvent(&event), "aclrtCreateEvent");
  }
}

// Sometimes the next stream waits for the work of the previous one.
aclrtStream Worker::next_stream() {
  const auto next = static_cast<size_t>(random_.below(kStreams));
  if (next != last_stream_ && random_.chance(4)) {
    aclrtEvent event = events_[static_cast<size_t>(random_.below(2))];
    expect(0, aclrtRecordEvent(event, streams_[last_stream_]), "aclrtRecordEvent");
    expect(0, aclrtStreamWaitEvent(streams_[next], event), "aclrtStreamWaitEvent");
  }
  last_stream_ = next;
  return streams_[next];
}

void Worker::hold_workspace(const Job& job) {
  aclOpExecutor* executor = nullptr;
  int code = 0;
  const uint64_t bytes = phase1(job, JobHandles(job.tensors()), code, &executor);
  expect(0, code, job.description().name.c_str());
  expect(0, aclSetAclOpExecutorRepeatable(executor), "aclSetAclOpExecutorRepeatable");
  expect(0, aclDestroyAclOpExecutor(executor), "aclDestroyAclOpExecutor");
  if (bytes == 0) return;
  held_.push_back(nullptr);
  expect(0, aclrtMalloc(&held_.back(), bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
}

void Worker::release_workspaces() {
  for (void* block : held_) expect(0, aclrtFree(block), "aclrtFree");
  held_.clear();
}

void Worker::call(const Job& job) {
  const aclrtStream stream = next_stream();
  expect(0, job.restore(stream), "aclrtMemcpyAsync");
  aclOpExecutor* executor = nullptr;
  int code = 0;
  const uint64_t bytes = phase1(job, JobHandles(job.tensors()), code, &executor);
  if (!expect(0, code, job.description().name.c_str())) return;
  void* workspace = nullptr;
  if (bytes > 0) expect(0, aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  code = job.description().phase2(workspace, bytes, executor, stream);
  if (expect(0, code, job.description().name.c_str())) running_.push_back(&job);
  if (bytes > 0) expect(0, aclrtFree(workspace), "aclrtFree");  // released when the task is done
}

void Worker::finish_batch() {
  constexpr int kThoroughlyIn = 16;
  if (random_.chance(2)) {
    expect(0, aclrtRecordEvent(events_[0], streams_[0]), "aclrtRecordEvent");
    expect(0, aclrtSynchronizeEvent(events_[0]), "aclrtSynchronizeEvent");
  }
  for (aclrtStream stream : streams_) expect(0, aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  for (const Job* job : running_) {
    if (!job->ended_as_first(random_.chance(kThoroughlyIn))) {
      violation(job->description().name + " ended otherwise than the first time");
    } else {
      ++tally_.calls;
    }
  }
  running_.clear();
  if (const std::string text = take_error_text(); !text.empty()) violation("success left a message: " + text);
}

void Worker::batch() {
  constexpr int64_t kBatchesOfAStream = 50;
  constexpr int kMistakesIn = 16;
  for (size_t k = jobs_.size(); k-- > 0;) {
    std::swap(jobs_[k], jobs_[static_cast<size_t>(random_.below(static_cast<int64_t>(k) + 1))]);
    const Job& job = *jobs_[k].job;
    if (random_.chance(jobs_[k].one_batch_in)) call(job);
    if (random_.chance(kMistakesIn)) make_a_mistake(job);
  }
  finish_batch();
  if (++batches_ % kBatchesOfAStream == 0) renew_objects();
}

// ---- injected errors ----

void Worker::make_a_mistake(const Job& job) {
  switch (random_.below(4)) {
    case 0: phase1_mistake(job); break;
    case 1: executor_mistake(job); break;
    case 2: runtime_mistake(); break;
    default: index_fault(); return;
  }
  ++tally_.mistakes;
}

// NULL or a destroyed tensor as first argument, which every operator requires.
void Worker::phase1_mistake(const Job& job) {
  JobHandles handles(job.tensors());
  aclTensor* destroyed = nullptr;
  const bool is_null = random_.chance(2);
  if (!is_null) {
    destroyed = job.tensors()[0].describe().get();
    handles.replace(0, destroyed);
  } else {
    handles.replace(0, nullptr);
  }
  aclOpExecutor* executor = nullptr;
  int code = 0;
  phase1(job, handles, code, &executor);
  const std::string text = take_error_text();
  // A list consists of copies of descriptors, so it reports either error.
  const bool right = code == 161001 || code == 161002;
  if (!right || text.empty() || executor != nullptr)
    violation(job.description().name + " with a bad tensor returned " + std::to_string(code) + ": " + text);
}

// An executor that was consumed by a call without workspace or stream, and a number that never was an
// executor.
void Worker::executor_mistake(const Job& job) {
  aclOpExecutor* executor = reinterpret_cast<aclOpExecutor*>(static_cast<uintptr_t>(random_.bits()));
  if (random_.chance(2)) {
    int code = 0;
    phase1(job, JobHandles(job.tensors()), code, &executor);
    expect(0, code, job.description().name.c_str());
    auto* const no_stream = reinterpret_cast<aclrtStream>(static_cast<uintptr_t>(random_.bits()));
    expect(107017, job.description().phase2(nullptr, 0, executor, no_stream), "phase 2 with a forged stream");
  }
  expect(561000, job.description().phase2(nullptr, 0, executor, streams_[0]), "phase 2 with a bad executor");
}

void Worker::runtime_mistake() {
  constexpr size_t kTooMuch = size_t{1} << 60;
  void* block = nullptr;
  switch (random_.below(3)) {
    case 0:
      expect(207001, aclrtMalloc(&block, kTooMuch, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc of 2^60");
      break;
    case 1: expect(107000, aclrtFree(&block), "aclrtFree of a local variable"); break;
    default: {
      aclrtStream stream = nullptr;
      expect(0, aclrtCreateStream(&stream), "aclrtCreateStream");
      expect(0, aclrtDestroyStream(stream), "aclrtDestroyStream");
      expect(107017, aclrtSynchronizeStream(stream), "aclrtSynchronizeStream of a destroyed stream");
    }
  }
}

// An index out of range, on a separate stream: reported once, and then the stream works again.
void Worker::index_fault() {
  aclrtStream stream = nullptr;
  expect(0, aclrtCreateStream(&stream), "aclrtCreateStream");
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const Descriptor table = table_.describe(), indices = bad_indices_.describe(), rows = rows_.describe();
  expect(0, aclnnEmbeddingGetWorkspaceSize(table.get(), indices.get(), rows.get(), &bytes, &executor),
         "Embedding, phase 1");
  expect(0, aclnnEmbedding(nullptr, bytes, executor, stream), "Embedding, phase 2");
  if (expect(507035, aclrtSynchronizeStream(stream), "a synchronise after an index out of range"))
    ++tally_.faults;
  expect(0, aclrtSynchronizeStream(stream), "the synchronise after that");
  expect(0, aclrtDestroyStream(stream), "aclrtDestroyStream");
}

}  // namespace openaclnn_test
