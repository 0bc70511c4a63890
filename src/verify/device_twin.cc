// Implements the list of twins. Tests have few buffers at a time, so each call copies all of them.
#include "verify/device_twin.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "acl/acl.h"
#include "verify/runner.h"

namespace openaclnn_verify {

namespace {

struct Twins {
  std::mutex mutex;
  std::set<const DeviceTwin*> all;
};
Twins& twins() {
  static Twins* const made = new Twins;  // never destroyed: buffers of static tests are destroyed later
  return *made;
}

void require(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return;
  std::fprintf(stderr, "%s returned %d: %s\n", what, code, take_error_text().c_str());
  std::abort();
}

}  // namespace

bool DeviceTwin::is_asked_for() {
  static const bool asked = [] {
    const char* const setting = std::getenv("OPENACLNN_TEST_MEMORY");
    return setting != nullptr && std::strcmp(setting, "device") == 0;
  }();
  return asked;
}

DeviceTwin::DeviceTwin(std::byte* host, size_t bytes) : host_(host), bytes_(bytes) {
  use_device();
  require(aclrtMalloc(&device_, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  const std::lock_guard lock(twins().mutex);
  twins().all.insert(this);
}

DeviceTwin::~DeviceTwin() {
  {
    const std::lock_guard lock(twins().mutex);
    twins().all.erase(this);
  }
  require(aclrtFree(device_), "aclrtFree");
}

void* DeviceTwin::address_of(const void* host_address) const {
  return reinterpret_cast<void*>(
      reinterpret_cast<uintptr_t>(device_) +
      (reinterpret_cast<uintptr_t>(host_address) - reinterpret_cast<uintptr_t>(host_)));
}

void DeviceTwin::upload_all() {
  const std::lock_guard lock(twins().mutex);
  for (const DeviceTwin* twin : twins().all) {
    require(aclrtMemcpy(twin->device_, twin->bytes_, twin->host_, twin->bytes_, ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
  }
}

void DeviceTwin::download_all() {
  const std::lock_guard lock(twins().mutex);
  for (const DeviceTwin* twin : twins().all) {
    require(aclrtMemcpy(twin->host_, twin->bytes_, twin->device_, twin->bytes_, ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
  }
}

}  // namespace openaclnn_verify
