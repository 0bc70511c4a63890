// Implements arenas: best fit among free runs of pages. Runs with memory come first, because their pages need
// no page faults.
#include "cpu/arenas.h"

namespace openaclnn::cpu {

namespace {

struct PageRange {
  size_t first, count;
};

PageRange pages_of(const char* arena, const char* begin, size_t bytes) {
  return {static_cast<size_t>(begin - arena) / page_bytes(), bytes / page_bytes()};
}

template <class Set>
typename Set::node_type make_place() {
  Set one;
  return one.extract(one.emplace(0, nullptr).first);
}

}  // namespace

void* Arenas::take(size_t bytes) {
  for (FreeSpans* set : {&free_kept_, &free_emptied_}) {
    const auto place = set->lower_bound({bytes, nullptr});
    if (place != set->end()) return cut(spans_.find(place->second), bytes);
  }
  return nullptr;
}

void* Arenas::cut(Spans::iterator span, size_t bytes) {
  const size_t rest_bytes = span->second.bytes - bytes;
  auto rest = spans_.end();
  if (rest_bytes > 0) {
    rest = spans_
               .emplace(span->first + bytes,
                        Span{rest_bytes, span->second.arena, State::free, make_place<FreeSpans>()})
               .first;
  }
  unlist(span);
  span->second.bytes = bytes;
  if (rest_bytes > 0) {
    const auto [first, count] = pages_of(span->second.arena->begin, span->first, bytes);
    const size_t kept_pages = span->second.arena->kept.count(first, count);
    rest->second.kept_pages = span->second.kept_pages - kept_pages;
    span->second.kept_pages = kept_pages;
  }
  span->second.state = State::used;
  set_kept(span, false);
  used_bytes_ += bytes;
  if (rest_bytes > 0) list_free(rest);
  return span->first;
}

void Arenas::put_back(void* begin) noexcept {
  auto span = spans_.find(begin);
  used_bytes_ -= span->second.bytes;
  span->second.note = nullptr;
  set_kept(span, true);
  join_neighbours(span);
  list_free(span);
}

void Arenas::add(char* mapping) {
  std::list<Arena> one(1);
  one.front().begin = mapping;
  const auto span =
      spans_.emplace(mapping, Span{kArenaBytes, one.begin(), State::free, make_place<FreeSpans>()}).first;
  arenas_.splice(arenas_.end(), one);
  list_free(span);
}

Pages Arenas::begin_return() noexcept {
  if (free_kept_.empty()) return {};
  const auto span = spans_.find(std::prev(free_kept_.end())->second);
  unlist(span);
  set_kept(span, false);
  span->second.state = State::returning;
  return {span->first, span->second.bytes};
}

Pages Arenas::end_return(const Pages& pages) noexcept {
  auto span = spans_.find(pages.begin);
  join_neighbours(span);
  if (span->second.bytes < kArenaBytes || span->second.kept_pages > 0) {
    list_free(span);
    return {};
  }
  // Merging with previously returned pages may have moved its start before `pages`.
  char* const begin = span->first;
  arenas_.erase(span->second.arena);
  spans_.erase(span);
  return {begin, kArenaBytes};
}

void Arenas::cancel_returns() noexcept {
  for (auto span = spans_.begin(); span != spans_.end(); ++span) {
    if (span->second.state != State::returning) continue;
    set_kept(span, true);
    join_neighbours(span);
    list_free(span);
  }
}

// Extends `span` to all free pages around it. The span is in no list.
void Arenas::join_neighbours(Spans::iterator& span) noexcept {
  const auto is_free_with_span = [&](const Spans::iterator& other) {
    return other->second.state == State::free && other->second.arena == span->second.arena;
  };
  if (const auto next = std::next(span); next != spans_.end() && is_free_with_span(next)) {
    unlist(next);
    join(span, next);
  }
  if (span == spans_.begin()) return;
  const auto previous = std::prev(span);
  if (!is_free_with_span(previous)) return;
  unlist(previous);
  join(previous, span);
  span = previous;
}

void Arenas::join(Spans::iterator span, Spans::iterator next) noexcept {
  span->second.bytes += next->second.bytes;
  span->second.kept_pages += next->second.kept_pages;
  spans_.erase(next);
}

void Arenas::list_free(Spans::iterator span) noexcept {
  span->second.state = State::free;
  span->second.place.value() = {span->second.bytes, span->first};
  (span->second.kept_pages > 0 ? free_kept_ : free_emptied_).insert(std::move(span->second.place));
}

void Arenas::unlist(Spans::iterator span) noexcept {
  FreeSpans& set = span->second.kept_pages > 0 ? free_kept_ : free_emptied_;
  span->second.place = set.extract({span->second.bytes, span->first});
}

// Marks all pages of the span as kept, or none.
void Arenas::set_kept(Spans::iterator span, bool kept) noexcept {
  const auto [first, count] = pages_of(span->second.arena->begin, span->first, span->second.bytes);
  PageSet& pages = span->second.arena->kept;
  kept_pages_ -= span->second.kept_pages;
  span->second.kept_pages = kept ? count : 0;
  kept_pages_ += span->second.kept_pages;
  if (kept) {
    pages.insert(first, count);
  } else {
    pages.erase(first, count);
  }
}

}  // namespace openaclnn::cpu
