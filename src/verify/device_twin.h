// Device memory for a host buffer, for devices whose memory the host cannot access. With
// OPENACLNN_TEST_MEMORY=device every buffer has such a twin and calls use the twins. Their bytes, including
// margins, are copied to the device before phase 2 and back after it.
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

  // Returns the twin's address for an address in or near the host buffer.
  void* address_of(const void* host_address) const;

  // For all twins of the process.
  static void upload_all();
  static void download_all();

 private:
  std::byte* const host_;
  const size_t bytes_;
  void* device_ = nullptr;
};

}  // namespace openaclnn_verify
