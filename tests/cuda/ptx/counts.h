// What a kernel costs a GPU, counted: instructions, and the pieces of memory that its warps ask for.
#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace openaclnn::ptx {

inline constexpr uint64_t kSectorBytes = 32;  // what GPUs move between memory and caches

// Of one direction, in sectors.
struct Traffic {
  uint64_t requested = 0;  // a sector counts once for each instruction of a warp
  uint64_t distinct = 0;   // and once for the launch: what memory has to move at least
};

struct Counts {
  uint64_t instructions = 0;  // of warps
  Traffic reads, writes;      // of global memory; atomics count as both
  // Of shared memory: turns that the banks need, and how many they would with no two lanes in one bank.
  uint64_t shared_turns = 0, least_shared_turns = 0;
};

class Counter {
 public:
  void begin_instruction() {
    end_instruction();
    ++counts_.instructions;
  }
  // A lane's part of the instruction.
  void touch_global(uint64_t address, uint64_t bytes, bool reads, bool writes);
  void touch_shared(int lane, uint64_t offset, uint64_t bytes);
  // Of all instructions that have begun.
  const Counts& finish() {
    end_instruction();
    return counts_;
  }

 private:
  struct Request {
    std::vector<uint64_t> sectors;
    std::unordered_map<uint64_t, std::bitset<128>> pages;  // of 4 KiB: which sectors were touched
  };
  struct SharedAccess {
    int lane;
    uint64_t offset, bytes;
  };
  void end_instruction();
  static void end_request(Request& request, Traffic& traffic);
  void end_shared_request();

  Counts counts_;
  Request reads_, writes_;
  std::vector<SharedAccess> shared_;
};

}  // namespace openaclnn::ptx
