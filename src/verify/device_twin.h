// Device memory beside a buffer of the host, for devices whose memory the host cannot touch. With OPENACLNN_TEST_MEMORY=device every
// buffer gets one: calls run on the twins, whose bytes, margins included, are copied there before phase 2 and back after it.
#pragma once

#include <cstddef>

namespace openaclnn_verify {

class DeviceTwin {
 public:
  static bool is_asked_for();

  DeviceTwin(std::byte* host, size_t bytes);
  ~DeviceTwin();
  DeviceTwin(const DeviceTwin&) = delete;
  DeviceTwin& operator=(const DeviceTwin&) = delete;

  // The twin of an address in or near the host's buffer.
  void* address_of(const void* host_address) const;

  // All twins of the process.
  static void upload_all();
  static void download_all();

 private:
  std::byte* const host_;
  const size_t bytes_;
  void* device_ = nullptr;
};

}  // namespace openaclnn_verify
