// Shared by the runtime's tests: expecting a code with its error message, and a fixture with device and
// stream. Small operator calls with predictable effects are in counter.h and lookup.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "openaclnn/status.h"

#if defined(__has_feature)
#define OPENACLNN_TEST_HAS(feature) __has_feature(feature)
#else
#define OPENACLNN_TEST_HAS(feature) 0
#endif

namespace runtime_test {

#if defined(__SANITIZE_THREAD__) || OPENACLNN_TEST_HAS(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || OPENACLNN_TEST_HAS(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// Sets an environment variable before the library reads it, for objects at namespace scope. ctest's own
// setting takes precedence.
struct SetEnvironment {
  SetEnvironment(const char* name, const char* value) { setenv(name, value, 0); }
};

// Gates block workers, so there must be more workers than a small machine has cores.
inline const SetEnvironment several_workers("OPENACLNN_NUM_THREADS", "4");

// Takes this thread's error text and compares: success leaves no text, a failure adds a line that ends with
// the code and contains every part. Evaluate the call as the second argument: expect(107002,
// aclrtMalloc(…), {"context"}). A success does not use gtest, whose locks a forked child could inherit.
inline void expect(int expected, int code, std::initializer_list<std::string_view> parts = {},
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const char* text = aclGetRecentErrMsg();
  const auto fail = [&](const std::string& why) {
    ADD_FAILURE_AT(file, line) << why << "\n" << (text != nullptr ? text : "(no error text)");
  };
  if (code != expected) fail("code " + std::to_string(code) + ", expected " + std::to_string(expected));
  if (code == 0 || expected == 0) {
    if (code == 0 && text != nullptr) fail("a success left error text");
    return;
  }
  if (text == nullptr) return fail("a failure without a message");
  const std::string whole = text;
  const std::string newest = whole.substr(0, whole.find('\n'));
  if (newest.find(" [" + std::to_string(code) + " ") == std::string::npos) fail("the message lacks its code");
  if (newest.find("UNKNOWN") != std::string::npos) fail("the code has no name");
  for (std::string_view part : parts) {
    if (newest.find(part) == std::string::npos) fail("the message lacks: " + std::string(part));
  }
}

// Contiguous tensor over caller memory.
inline aclTensor* make_tensor(const std::vector<int64_t>& dims, aclDataType dtype, void* data) {
  return aclCreateTensor(dims.data(), dims.size(), dtype, nullptr, 0, ACL_FORMAT_ND, dims.data(), dims.size(),
                         data);
}

// Device 0 is current and `stream` is a stream of it.
class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    (void)aclGetRecentErrMsg();
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
  }
  void TearDown() override {
    (void)aclGetRecentErrMsg();
    expect(0, aclrtSetDevice(0));  // the test may have changed the context
    if (stream != nullptr) expect(0, aclrtDestroyStream(stream));
    (void)aclrtSynchronizeDevice();  // an unreported fault must not reach the next test
    (void)aclGetRecentErrMsg();
    expect(0, aclrtResetDevice(0));
    expect(0, aclrtResetDevice(0));
  }

  static bool is_idle(aclrtStream which) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    expect(0, aclrtStreamQuery(which, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
  static aclrtStream new_stream() {
    aclrtStream created = nullptr;
    expect(0, aclrtCreateStream(&created));
    return created;
  }
  static aclrtEvent new_event() {
    aclrtEvent created = nullptr;
    expect(0, aclrtCreateEvent(&created));
    return created;
  }

  aclrtStream stream = nullptr;
};

}  // namespace runtime_test
