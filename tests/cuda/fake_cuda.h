// The CUDA platform without a GPU: makes the library use the plugin over the fake runtime, and gives tests
// that runtime's functions.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/runtime_test.h"
#include "support/paths.h"

namespace cuda_test {

inline const runtime_test::SetEnvironment cuda_device("OPENACLNN_DEVICE", "cuda");
inline const runtime_test::SetEnvironment cuda_plugin("OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin);

// A function of the plugin that the library has opened, or will open.
template <class Function>
Function* look_up(const char* name) {
  void* const plugin = dlopen(test_paths::fake_plugin, RTLD_NOW | RTLD_LOCAL);
  void* const found = plugin != nullptr ? dlsym(plugin, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "%s: %s\n", name, dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}
#define OPENACLNN_FAKE(function) cuda_test::look_up<decltype(function)>(#function)

// Sets the failures to inject from now on, in the syntax of fake_gpu.cc; "" for none. Returns the calls
// since the last time.
inline unsigned long fake(const char* failures) { return OPENACLNN_FAKE(openaclnn_fake_cuda)(failures); }

class CudaTest : public runtime_test::RuntimeTest {
 protected:
  void TearDown() override {
    fake("");
    RuntimeTest::TearDown();
  }
};

}  // namespace cuda_test
