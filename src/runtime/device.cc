// The registry of platforms.
#include "runtime/device.h"

#include <memory>

#include "base/first_use.h"

namespace openaclnn {

namespace {

MakePlatform& cpu_platform() {
  static MakePlatform make = nullptr;
  return make;
}

const Platform* choose_platform() {
  if (environment().device == DeviceChoice::cuda) {
    auto none = std::make_unique<Platform>();
    none->why_none = "OPENACLNN_DEVICE is cuda, but this build has no CUDA plugin";
    return none.release();
  }
  return cpu_platform()();
}

}  // namespace

void register_cpu_platform(MakePlatform make) { cpu_platform() = make; }

const Platform& platform() {
  static std::atomic<const Platform*> known{nullptr};
  if (const Platform* chosen = known.load(std::memory_order_acquire)) return *chosen;
  std::unique_ptr<const Platform> chosen(choose_platform());
  if (is_first(known, chosen.get())) (void)chosen.release();  // never destroyed, like all that belongs to it
  return *known.load(std::memory_order_acquire);
}

}  // namespace openaclnn
