// Every parameter where a size, a count or an index enters the library, as a list of doors, for tests of
// impossible values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/room_schemas.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"

namespace runtime_test {

inline constexpr uint64_t kDoorValues[] = {
    0, 1, uint64_t{1} << 31, uint64_t{1} << 32, (uint64_t{1} << 63) - 1, uint64_t{1} << 63, ~uint64_t{0}};

// The result of a call with such a value.
struct Passage {
  int code;
  std::vector<int> accepted;  // the codes that the public header permits for this value; 0: success
};

struct SizeDoor {
  std::string function;   // the exported name
  std::string parameter;  // as in the public header
  std::string variant;    // other special conditions; mostly empty
  std::function<Passage(uint64_t)> call;
};

class SizeDoorsTest : public RuntimeTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  void add(std::string function, std::string parameter, std::function<Passage(uint64_t)> call,
           std::string variant = {}) {
    doors.push_back({std::move(function), std::move(parameter), std::move(variant), std::move(call)});
  }
  void add_memory_doors();
  void add_copy_doors();
  void add_row_copy_doors();
  void add_object_doors();
  void add_address_doors();
  void add_other_doors();
  int finished(int code) const;  // waits for the queued work
  void add_operator_doors();

  std::vector<SizeDoor> doors;
  Counter counter_;
  void* block_ = nullptr;  // 64 bytes that the library knows
  char unknown_[64] = {};  // and 64 that it does not
  std::vector<openaclnn_test::Schema> schemas_ = openaclnn_test::all_schemas();
};

}  // namespace runtime_test
