// Runs kernels on the emulation of the device language, at once.
#include "kernels.h"

#include "cuda/simt/device_language.h"

namespace openaclnn_test {

void set_reversed_schedule(bool reversed) {
  using openaclnn::simt::Schedule;
  openaclnn::simt::set_schedule(reversed ? Schedule::reverse : Schedule::forward);
}

std::string finish_kernels() { return ""; }

#if defined(__SANITIZE_THREAD__)
const char* const kRaceReport = "data race";
#else
const char* const kRaceReport = nullptr;
#endif

}  // namespace openaclnn_test
