// Arenas: mappings of 16 MiB for blocks of 8 KiB to 2 MiB, allocated in whole pages. Neighbouring free pages
// are merged.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "cpu/pages.h"

namespace openaclnn::cpu {

inline constexpr size_t kArenaBytes = size_t{16} << 20;

// A set of pages of an arena.
class PageSet {
 public:
  void insert(size_t first, size_t count) {
    for_each_word(first, count, [](uint64_t& word, uint64_t mask) { word |= mask; });
  }
  void erase(size_t first, size_t count) {
    for_each_word(first, count, [](uint64_t& word, uint64_t mask) { word &= ~mask; });
  }
  size_t count(size_t first, size_t count) {
    size_t found = 0;
    for_each_word(first, count, [&](uint64_t& word, uint64_t mask) {
      found += static_cast<size_t>(std::popcount(word & mask));
    });
    return found;
  }

 private:
  template <class F>
  void for_each_word(size_t first, size_t count, const F& f) {
    for (size_t at = first; at < first + count;) {
      const size_t bit = at % 64;
      const size_t bits = bit + first + count - at < 64 ? first + count - at : 64 - bit;
      f(words_[at / 64], (~uint64_t{0} >> (64 - bits)) << bit);
      at += bits;
    }
  }

  std::array<uint64_t, kArenaBytes / 4096 / 64> words_ = {};
};

// All functions require the pool's lock. Those that throw std::bad_alloc leave the object unchanged.
class Arenas {
 public:
  // Allocates `bytes` in whole pages, at most kArenaBytes; returns nullptr if no free pages are left. May
  // throw.
  void* take(size_t bytes);
  void put_back(void* begin) noexcept;

  // Adds an arena: kArenaBytes from map_pages(). May throw.
  void add(char* mapping);
  // Whether the next arena may have huge pages: a mostly empty arena then wastes only a small part of the
  // memory in use.
  bool wants_huge_pages() const { return used_bytes_ >= 8 * kHugePage; }

  // Data that the owner of the block at `address` may set; initially nullptr.
  void*& note_at(const void* address) { return std::prev(spans_.upper_bound(address))->second.note; }

  // Free pages that may hold memory.
  size_t kept_bytes() const { return kept_pages_ * page_bytes(); }
  // Returns the longest run of free pages that may hold memory, or an empty one. take() does not use it until
  // end_return().
  Pages begin_return() noexcept;
  // Ends the return of pages that were emptied. Returns the pages to unmap: the whole arena if it is unused,
  // otherwise none.
  Pages end_return(const Pages& pages) noexcept;
  // Cancels all begin_return() without end_return(): a forked child lacks the threads that called them.
  void cancel_returns() noexcept;

 private:
  struct Arena {
    char* begin;
    PageSet kept;  // free pages that may hold memory
  };
  using ArenaEntry = std::list<Arena>::iterator;
  using FreeSpans = std::set<std::pair<size_t, char*>>;  // by size, then address

  enum class State { used, free, returning };
  struct Span {
    size_t bytes;
    ArenaEntry arena;
    State state;
    FreeSpans::node_type place;  // its node while it is in no list, so that freeing never allocates
    size_t kept_pages = 0;       // how many of its pages are in the arena's set
    void* note = nullptr;
  };
  using Spans = std::map<char*, Span, std::less<>>;

  void* cut(Spans::iterator span, size_t bytes);
  void join_neighbours(Spans::iterator& span) noexcept;
  void join(Spans::iterator span, Spans::iterator next) noexcept;
  void list_free(Spans::iterator span) noexcept;
  void unlist(Spans::iterator span) noexcept;
  void set_kept(Spans::iterator span, bool kept) noexcept;

  std::list<Arena> arenas_;
  Spans spans_;             // spans of all arenas
  FreeSpans free_kept_;     // spans with at least one page that may hold memory
  FreeSpans free_emptied_;  // spans without such pages
  size_t used_bytes_ = 0;
  size_t kept_pages_ = 0;
};

}  // namespace openaclnn::cpu
