// A library with the benchmark's C functions and made-up times, to test the driver without measuring.
//
// Environment: BENCH_MOCK_TOGETHER is the speed of all cores in probes of the memory regime; a core alone reads 40 GB/s. BENCH_MOCK_SLOWER multiplies the times of contestant 0. BENCH_MOCK_CRASH names a workload that ends the
// process when it is opened; with BENCH_MOCK_CRASH_ONCE, a file, only if that file can be removed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const kDescriptions[] = {
    "{\"name\": \"ApplyFusedEmaAdam/f32/memory\", \"operator\": \"ApplyFusedEmaAdam\", \"dtype\": \"f32\","
    " \"size\": \"memory\", \"variant\": \"\", \"shape\": {\"numel\": 16}, \"bytes\": 576,"
    " \"reference\": \"5 reads, 4 writes in place\", \"tensors\": {\"grad\": [[16], \"f32\"]}, \"later\": 1}",
    "{\"name\": \"GroupedBiasAddGrad/f32/memory/uniform\", \"operator\": \"GroupedBiasAddGrad\", \"dtype\": "
    "\"f32\","
    " \"size\": \"memory\", \"variant\": \"uniform\", \"shape\": {\"rows\": 4}, \"bytes\": 64,"
    " \"reference\": \"read\", \"tensors\": {}}",
    "{\"name\": \"GroupedBiasAddGrad/f32/memory/skewed\", \"operator\": \"GroupedBiasAddGrad\", \"dtype\": "
    "\"f32\","
    " \"size\": \"memory\", \"variant\": \"skewed\", \"shape\": {\"rows\": 4}, \"bytes\": 64,"
    " \"reference\": \"read\", \"tensors\": {}}",
    "{\"name\": \"ApplyFusedEmaAdam/f32/growth/16\", \"operator\": \"ApplyFusedEmaAdam\", \"dtype\": \"f32\","
    " \"size\": \"growth\", \"variant\": \"16\", \"shape\": {\"numel\": 16}, \"bytes\": 576,"
    " \"reference\": \"5 reads, 4 writes in place\", \"tensors\": {\"grad\": [[16], \"f32\"]}}",
    "{\"name\": \"Overhead/f32/phase1\", \"operator\": \"Overhead\", \"dtype\": \"f32\", \"size\": "
    "\"phase1\","
    " \"variant\": \"\", \"shape\": {}, \"bytes\": 0, \"reference\": \"\", \"tensors\": {}}",
};
static const double kSeconds[] = {10e-3, 4e-3, 5e-3, 20e-3, 400e-9};  // of contestant 0 with one thread
enum { kCount = sizeof kSeconds / sizeof kSeconds[0], kOverhead = kCount - 1 };

struct Bench {
  int workload;
  int calls;
  float tensor[16];
};

int bench_workloads(void) { return kCount; }

const char* bench_describe(int workload) { return kDescriptions[workload]; }

void* bench_open(int workload) {
  const char* const crash = getenv("BENCH_MOCK_CRASH");
  if (crash != NULL && strstr(kDescriptions[workload], crash) != NULL) {
    const char* const once = getenv("BENCH_MOCK_CRASH_ONCE");
    if (once == NULL || unlink(once) == 0) abort();
  }
  struct Bench* const bench = calloc(1, sizeof *bench);
  bench->workload = workload;
  return bench;
}

double bench_run(void* opened, int contestant, int calls) {
  struct Bench* const bench = opened;
  const char* const slower = getenv("BENCH_MOCK_SLOWER");
  const char* const threads = getenv("OPENACLNN_NUM_THREADS");
  if (contestant > 1 || (contestant == 1 && bench->workload == kOverhead)) return -1;
  const double jitter = 1 + 0.01 * (bench->calls++ % 3);
  double seconds = kSeconds[bench->workload] * jitter * calls;
  if (threads != NULL) seconds /= atoi(threads);
  return contestant == 1 ? 0.9 * seconds : seconds * (slower != NULL ? atof(slower) : 1);
}

double bench_probe(int threads) {
  const char* const together = getenv("BENCH_MOCK_TOGETHER");
  if (threads == 1) return 40e9;
  return together != NULL ? atof(together) : 38e9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

void* bench_tensor(void* opened, const char* name, int64_t* bytes) {
  struct Bench* const bench = opened;
  if (strcmp(name, "grad") != 0) return NULL;
  *bytes = sizeof bench->tensor;
  return bench->tensor;
}

void bench_close(void* bench) { free(bench); }
