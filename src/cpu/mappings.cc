// Mappings: each has one node, which moves between the maps of kept and returning mappings and its place
// while in use.
#include "cpu/mappings.h"

#include <algorithm>
#include <utility>

namespace openaclnn::cpu {

size_t mapping_bytes(size_t bytes) {
  return rounded_up(bytes, bytes >= 8 * kHugePage ? kHugePage : page_bytes());
}

void* Mappings::take(size_t bytes) noexcept {
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first > std::max(mapping_bytes(bytes), bytes + bytes / 8))
    return nullptr;
  char* const begin = found->second;
  kept_bytes_ -= found->first;
  places_.find(begin)->second = kept_.extract(found);
  return begin;
}

void Mappings::put_back(void* begin) noexcept {
  BySize::node_type& node = places_.find(begin)->second;
  kept_bytes_ += node.key();
  kept_.insert(std::move(node));
}

void Mappings::add(char* begin, size_t bytes) {
  BySize one;
  one.emplace(bytes, begin);
  places_.emplace(begin, BySize::node_type());
  kept_.merge(one);
  kept_bytes_ += bytes;
}

Pages Mappings::begin_return() noexcept {
  if (kept_.empty()) return {};
  const auto longest = std::prev(kept_.end());
  const Pages pages{longest->second, longest->first};
  kept_bytes_ -= pages.bytes;
  returning_.insert(kept_.extract(longest));
  return pages;
}

Pages Mappings::end_return(const Pages& pages) noexcept {
  places_.erase(pages.begin);
  const auto [first, last] = returning_.equal_range(pages.bytes);
  returning_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == pages.begin; }));
  return pages;
}

void Mappings::cancel_returns() noexcept {
  for (const auto& [bytes, begin] : returning_) kept_bytes_ += bytes;
  kept_.merge(returning_);
}

}  // namespace openaclnn::cpu
