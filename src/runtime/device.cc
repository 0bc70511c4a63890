// The registry of platforms.
#include "runtime/device.h"

namespace openaclnn {

namespace {

MakePlatform& cpu_platform() {
  static MakePlatform make = nullptr;
  return make;
}

const Platform* choose_platform() {
  if (environment().device == DeviceChoice::cuda) {
    return new Platform{{}, "OPENACLNN_DEVICE is cuda, but this build has no CUDA plugin"};
  }
  return cpu_platform()();
}

}  // namespace

void register_cpu_platform(MakePlatform make) { cpu_platform() = make; }

const Platform& platform() {
  static const Platform* const chosen = choose_platform();
  return *chosen;
}

}  // namespace openaclnn
