// The probe of a round: how fast the cores read memory at this moment, whatever the workload is.
#pragma once

namespace openaclnn_bench {

// Returns the bytes per second at which `threads` threads together read memory far beyond the caches; 0 means
// one for each core of this process. The first call allocates and writes that memory.
double probe_bytes_per_second(int threads);

}  // namespace openaclnn_bench
