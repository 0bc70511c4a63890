// The costs of a kernel on a GPU: instructions, and the pieces of memory that its warps request.
#pragma once

#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace openaclnn::ptx {

inline constexpr uint64_t kSectorBytes = 32;  // the unit of transfers between memory and caches

// Traffic of one direction, in sectors.
struct Traffic {
  uint64_t requested = 0;  // a sector counts once per warp instruction
  uint64_t distinct = 0;   // a sector counts once per launch: the least that memory has to move
};

struct Counts {
  uint64_t instructions = 0;  // instructions of warps
  Traffic reads, writes;      // traffic of global memory; atomics count as both
  // Turns of shared memory's banks, and the turns that would be needed with no two lanes in one bank.
  uint64_t shared_turns = 0, least_shared_turns = 0;
};

class Counter {
 public:
  void begin_instruction() {
    end_instruction();
    ++counts_.instructions;
  }
  // Adds a lane's part of the instruction.
  void touch_global(uint64_t address, uint64_t bytes, bool reads, bool writes);
  void touch_shared(int lane, uint64_t offset, uint64_t bytes);
  // Totals of all instructions that have started.
  const Counts& finish() {
    end_instruction();
    return counts_;
  }

 private:
  struct Request {
    std::vector<uint64_t> sectors;
    std::unordered_map<uint64_t, std::bitset<128>> pages;  // pages of 4 KiB: which sectors were accessed
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
