// Reads one block of memory with one thread or with all cores.
#include "probe.h"

#include <algorithm>

#include "base/affinity.h"
#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

constexpr int64_t kProbeBytes = int64_t{96} << 20;  // several times the share of the last cache
constexpr int kTries = 2;                           // the faster one counts: an interruption isn't a regime

// The CPUs that this process may use, whatever the number of threads that it measures.
int usable_cores() { return std::max(1, openaclnn::affinity_cpus()); }

double seconds_to_read(Team& team, const Memory& memory) {
  return team.run(1, [&](int thread) {
    const Part part = part_of(memory.bytes(), thread, team.threads());
    volatile uint64_t seen = traffic_kernels().read(memory.data() + part.begin, part.bytes);
    (void)seen;
  });
}

}  // namespace

double probe_bytes_per_second(int threads) {
  static const Memory memory(kProbeBytes);
  static Team alone(1), together(usable_cores());
  Team& team = threads == 1 ? alone : together;
  double least = seconds_to_read(team, memory);
  for (int i = 1; i < kTries; ++i) least = std::min(least, seconds_to_read(team, memory));
  return static_cast<double>(kProbeBytes) / least;
}

}  // namespace openaclnn_bench
