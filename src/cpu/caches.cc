// Determines cache sizes from the C library.
#include "cpu/caches.h"

#include <unistd.h>

#include <algorithm>

namespace openaclnn::cpu {

namespace {

int64_t share_of_results() {
  constexpr int64_t kLeast = int64_t{1} << 20;
  constexpr int64_t kMost = int64_t{32} << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const int64_t last_level =
      std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
#else
  const int64_t last_level = 0;
#endif
  return std::clamp(last_level / 2, kLeast, kMost);
}

// Half of the last-level cache; the other half is left for inputs. The size may be unknown (0 or less), or
// that of a whole socket of which a virtual machine gets only a part. Determined while the library loads: a
// forked child must never wait for another thread's initialisation.
const int64_t kShare = share_of_results();

}  // namespace

bool exceeds_caches(int64_t bytes) { return bytes > kShare; }

}  // namespace openaclnn::cpu
