// The C functions through which the benchmark's driver (bench.py) runs workloads. The process may contain
// other libraries, so that contestants of all kinds take turns.
#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "probe.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list;
#define OPENACLNN_WORKLOADS(name) \
  for (Entry & made : name##_workloads()) list.push_back(std::move(made));
#include "workload_list.def"
#undef OPENACLNN_WORKLOADS
    return list;
  }();
  return all;
}

int team_size() {
  const char* const variable = std::getenv("OPENACLNN_NUM_THREADS");
  const int threads = variable != nullptr ? std::atoi(variable) : 0;
  return threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
}

struct Bench {
  std::unique_ptr<Workload> workload;
  Team team{team_size()};
};

const std::vector<std::string>& descriptions() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const Entry& entry : entries()) list.push_back(to_json(entry.description));
    return list;
  }();
  return all;
}

void start_library() {
  static const bool ready = [] {
    require(aclInit(nullptr));
    require(aclrtSetDevice(0));
    return true;
  }();
  (void)ready;
}

bool known(int workload) { return workload >= 0 && static_cast<size_t>(workload) < entries().size(); }

}  // namespace

}  // namespace openaclnn_bench

using namespace openaclnn_bench;

#define BENCH_API extern "C" __attribute__((visibility("default")))

// Returns the number of workloads.
BENCH_API int bench_workloads() { return static_cast<int>(entries().size()); }

// Returns a JSON object, or NULL for an unknown number. It is never freed.
BENCH_API const char* bench_describe(int workload) {
  return known(workload) ? descriptions()[static_cast<size_t>(workload)].c_str() : nullptr;
}

// Allocates, fills and writes all memory of a workload.
BENCH_API void* bench_open(int workload) {
  if (!known(workload)) {
    std::fprintf(stderr, "bench_open: there is no workload %d\n", workload);
    return nullptr;
  }
  start_library();
  const Entry& entry = entries()[static_cast<size_t>(workload)];
  return new Bench{entry.open(entry.description)};
}

// Returns the seconds of `calls` back-to-back calls. Contestant 0 is openaclnn, 1 the reference, 2 the
// reference with arithmetic. Negative: it does not exist.
BENCH_API double bench_run(void* bench, int contestant, int calls) {
  Bench& opened = *static_cast<Bench*>(bench);
  if (contestant == 0) return opened.workload->run(calls);
  if (contestant == 1) return opened.workload->run_reference(opened.team, calls);
  return contestant == 2 ? opened.workload->run_arithmetic(opened.team, calls) : -1;
}

// Returns the memory of one of the workload's tensors, or NULL if it has none of that name.
BENCH_API void* bench_tensor(void* bench, const char* name, int64_t* bytes) {
  for (const Tensor& tensor : static_cast<Bench*>(bench)->workload->tensors()) {
    if (tensor.name() != name) continue;
    *bytes = tensor.bytes();
    return tensor.data();
  }
  return nullptr;
}

BENCH_API void bench_close(void* bench) { delete static_cast<Bench*>(bench); }

// Returns the bytes per second at which one thread (1) or all cores (0) read memory now.
BENCH_API double bench_probe(int threads) {
  start_library();
  return probe_bytes_per_second(threads);
}
