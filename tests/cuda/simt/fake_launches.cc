// Launches kernels that the emulation of the device language runs.
#include "cuda/simt/device_language.h"
#include "cuda/simt/fake_gpu.h"

namespace openaclnn::simt {

namespace {

int launch_on_stream(void* stream, KernelLaunch&& launch) {
  return FakeGpu::instance().launch(
      static_cast<CUstream_st*>(stream),
      [launch = std::make_shared<const KernelLaunch>(std::move(launch))] { run(*launch); });
}

[[maybe_unused]] const bool hooked = (set_launch_hook(launch_on_stream), true);

}  // namespace

}  // namespace openaclnn::simt
