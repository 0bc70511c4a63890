// Stores hashes of the written lines in a table of fixed size: memory is bounded, without allocations or
// locks.
#include "runtime/refusal_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "acl/acl_base.h"
#include "base/codes.h"
#include "base/env.h"
#include "base/printable.h"
#include "base/standard_error.h"

namespace openaclnn {

namespace {

constexpr size_t kDistinctLines = 1024;
std::array<std::atomic<uint64_t>, kDistinctLines> written_lines;  // hashes; 0 means free
std::atomic<bool> table_was_full;

// FNV-1a. If two lines had the same hash, the second would be lost. For 1024 lines the probability is about
// 3e-14.
uint64_t hash_of(std::span<const char> line) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : line) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash != 0 ? hash : 1;
}

enum class Seen { never, before, table_full };

Seen remember(uint64_t hash) {
  for (size_t k = 0; k < kDistinctLines; ++k) {
    std::atomic<uint64_t>& slot = written_lines[(hash + k) % kDistinctLines];
    uint64_t known = slot.load(std::memory_order_relaxed);
    if (known == 0 && slot.compare_exchange_strong(known, hash, std::memory_order_relaxed))
      return Seen::never;
    if (known == hash) return Seen::before;
  }
  return Seen::table_full;
}

// "None" and "not yet" answer a question that programs, openaclnn's own Python among them, ask on purpose.
bool is_answer(std::string_view function, int code) {
  if (code == ACL_ERROR_RT_CONTEXT_NULL)
    return function == "aclrtGetDevice" || function == "aclrtGetCurrentContext";
  return code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT || code == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT;
}

bool is_enabled(LogLevel level) noexcept {
  try {
    return environment().log >= level;
  } catch (...) {
    return false;  // no memory to read the settings for the first time; a later refusal tries again
  }
}

}  // namespace

void log_refusal(const char* function, std::string_view sentence, int code) noexcept {
  if (!is_enabled(is_answer(function, code) ? LogLevel::debug : LogLevel::info)) return;
  // Longer names and messages are truncated, so that the code always fits: 11 + 256 + 2 + 720 + 64 bytes.
  std::array<char, 1056> line;
  const int sentence_bytes = static_cast<int>(std::min<size_t>(sentence.size(), 720));
  const int printed = std::snprintf(line.data(), line.size(), "openaclnn: %.256s: %.*s [%d %s]\n", function,
                                    sentence_bytes, sentence.data(), code, code_name(code));
  if (printed <= 0) return;
  const std::span<char> text(line.data(), std::min(static_cast<size_t>(printed), line.size() - 1));
  make_printable(text.first(text.size() - 1));
  text.back() = '\n';
  switch (remember(hash_of(text))) {
    case Seen::never: return write_to_stderr({text.data(), text.size()});
    case Seen::before: return;
    case Seen::table_full:
      static constexpr std::string_view kNote =
          "openaclnn: 1024 different messages about rejected calls were logged; further ones are omitted\n";
      if (!table_was_full.exchange(true)) write_to_stderr(kNote);
  }
}

}  // namespace openaclnn
