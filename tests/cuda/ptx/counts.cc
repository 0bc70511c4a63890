// Counts the costs of a kernel on a GPU.
#include "cuda/ptx/counts.h"

#include <algorithm>
#include <array>
#include <set>

namespace openaclnn::ptx {

void Counter::touch_global(uint64_t address, uint64_t bytes, bool reads, bool writes) {
  for (uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector) {
    if (reads) reads_.sectors.push_back(sector);
    if (writes) writes_.sectors.push_back(sector);
  }
}

void Counter::touch_shared(int lane, uint64_t offset, uint64_t bytes) {
  shared_.push_back({lane, offset, bytes});
}

void Counter::end_instruction() {
  if (!reads_.sectors.empty()) end_request(reads_, counts_.reads);
  if (!writes_.sectors.empty()) end_request(writes_, counts_.writes);
  if (!shared_.empty()) end_shared_request();
}

void Counter::end_request(Request& request, Traffic& traffic) {
  constexpr uint64_t kSectorsOfPage = 128;
  std::ranges::sort(request.sectors);
  // Not std::ranges::unique: clang 14 rejects its result with libstdc++ 12.
  request.sectors.erase(std::unique(request.sectors.begin(), request.sectors.end()), request.sectors.end());
  traffic.requested += request.sectors.size();
  for (const uint64_t sector : request.sectors) {
    std::bitset<kSectorsOfPage>& page = request.pages[sector / kSectorsOfPage];
    if (page.test(sector % kSectorsOfPage)) continue;
    page.set(sector % kSectorsOfPage);
    ++traffic.distinct;
  }
  request.sectors.clear();
}

// Memory has 32 banks of 4 bytes. Accesses of 8 bytes are served in two halves of the warp, of 16 bytes in
// four quarters. In one turn a bank gives one word to any number of lanes.
void Counter::end_shared_request() {
  constexpr int kBanks = 32, kWarpLanes = 32;
  const int lanes_at_once =
      kWarpLanes * 4 / static_cast<int>(std::clamp<uint64_t>(shared_.front().bytes, 4, 16));
  for (int first = 0; first < kWarpLanes; first += lanes_at_once) {
    std::array<std::set<uint64_t>, kBanks> words;
    bool is_used = false;
    for (const SharedAccess& access : shared_) {
      if (access.lane < first || access.lane >= first + lanes_at_once) continue;
      is_used = true;
      for (uint64_t word = access.offset / 4; word <= (access.offset + access.bytes - 1) / 4; ++word)
        words[word % kBanks].insert(word);
    }
    if (!is_used) continue;
    counts_.shared_turns += std::ranges::max(words, {}, &std::set<uint64_t>::size).size();
    ++counts_.least_shared_turns;
  }
  shared_.clear();
}

}  // namespace openaclnn::ptx
