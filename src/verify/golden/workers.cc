// Starts threads for one loop and joins them.
#include "verify/golden/workers.h"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace openaclnn_verify {

void run_workers(int threads, int64_t most, const std::function<void()>& work) {
  const int64_t wanted = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int64_t n = 1; n < std::min(wanted, most); ++n) others.emplace_back(guarded);
  } catch (const std::system_error&) {
    // The threads that exist do all the work.
  }
  guarded();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

void for_each_range(int64_t count, int64_t grain, int threads,
                    const std::function<void(int64_t, int64_t)>& body) {
  Ranges ranges(count, grain);
  run_workers(threads, ranges.size(), [&] {
    for (int64_t begin = 0, end = 0; ranges.next(begin, end);) body(begin, end);
  });
}

}  // namespace openaclnn_verify
