// Registers the platforms and selects one.
#include "runtime/device.h"

#include <array>
#include <memory>

#include "base/cancellation.h"
#include "base/first_use.h"
#include "base/text.h"

namespace openaclnn {

namespace {

// Zero-initialised before any constructor runs: device layers register in their constructors.
std::array<MakePlatform, 2> platforms;

Platform* make(PlatformKind kind) {
  const MakePlatform make_it = platforms[static_cast<size_t>(kind)];
  return make_it != nullptr ? make_it() : new Platform(kind, "this build has no CUDA device layer");
}

// Not inlined: its stack frame would slow down the common path through platform().
[[gnu::noinline, gnu::cold]] const Platform* choose_platform() {
  const CancellationHold no_cancellation;
  const DeviceChoice choice = environment().device;
  const auto without_cuda = [](std::string why) {
    std::unique_ptr<Platform> cpu(make(PlatformKind::cpu));
    cpu->why_no_cuda = std::move(why);
    return cpu.release();
  };
  if (choice == DeviceChoice::cpu) return without_cuda("disabled by OPENACLNN_DEVICE=cpu");
  std::unique_ptr<Platform> cuda(make(PlatformKind::cuda));
  if (choice == DeviceChoice::cuda || !cuda->devices.empty()) return cuda.release();
  log_message(LogLevel::info, cuda->why_none);
  return without_cuda(cuda->why_none);
}

}  // namespace

void register_platform(PlatformKind kind, MakePlatform make) { platforms[static_cast<size_t>(kind)] = make; }

const Platform& platform() {
  static std::atomic<const Platform*> known{nullptr};
  if (const Platform* chosen = known.load(std::memory_order_acquire)) return *chosen;
  std::unique_ptr<const Platform> chosen(choose_platform());
  if (is_first(known, chosen.get())) (void)chosen.release();  // never destroyed, like all its objects
  return *known.load(std::memory_order_acquire);
}

}  // namespace openaclnn
