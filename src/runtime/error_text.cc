// Per-thread error state. All thread-local objects are trivially destructible, so callers may report errors
// from their own thread-local destructors. The message buffer is heap memory owned by a pthread key.
#include "runtime/error_text.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/codes.h"
#include "runtime/refusal_log.h"

namespace openaclnn {

namespace {

constexpr size_t kLineBytes = 1024;  // including the terminating 0
constexpr size_t kLines = 16;

struct Messages {
  std::array<std::array<char, kLineBytes>, kLines> ring;
  size_t next = 0;   // slot of the next message
  size_t count = 0;  // messages kept
  std::array<char, kLineBytes * kLines> joined;
};

thread_local Messages* thread_messages = nullptr;

void free_messages(void* messages) {
  delete static_cast<Messages*>(messages);
  thread_messages = nullptr;
}

// nullopt if the process has used up its keys. The messages of threads are then never freed.
const std::optional<pthread_key_t> kMessagesKey = []() -> std::optional<pthread_key_t> {
  pthread_key_t created = 0;
  if (pthread_key_create(&created, free_messages) != 0) return std::nullopt;
  return created;
}();

Messages* messages() {
  if (thread_messages == nullptr) {
    thread_messages = new (std::nothrow) Messages;
    if (thread_messages != nullptr && kMessagesKey) pthread_setspecific(*kMessagesKey, thread_messages);
  }
  return thread_messages;
}

// The newest message of a thread whose message buffer could not be allocated. It may be truncated.
struct LastResort {
  std::array<char, 192> line;
  bool is_new;
};
thread_local LastResort last_resort;

std::span<char> next_line(Messages& state) {
  std::span<char> line = state.ring[state.next];
  state.next = (state.next + 1) % kLines;
  state.count = std::min(state.count + 1, kLines);
  return line;
}

// Returns the buffer for this thread's next message.
std::span<char> line_for_message() {
  Messages* const state = messages();
  if (state == nullptr) {
    last_resort.is_new = true;
    return last_resort.line;
  }
  if (std::exchange(last_resort.is_new, false))  // memory is available again
    std::copy_n(last_resort.line.data(), last_resort.line.size(), next_line(*state).data());
  return next_line(*state);
}

// Writes "<function>: <sentence> [<code> <NAME>]" with a terminating 0.
void write_message(std::span<char> line, const char* function, std::string_view sentence, int code) {
  // The suffix must be complete: it is built first, and the message is truncated to the remaining space.
  std::array<char, 96> suffix;
  const char* name = code_name(code);
  const std::string number = std::to_string(code);  // fits the small-string buffer, so it does not allocate
  const size_t suffix_size = std::min(suffix.size(), 4 + number.size() + std::strlen(name));
  char* at = suffix.data();
  for (std::string_view piece : {std::string_view(" ["), std::string_view(number), std::string_view(" "),
                                 std::string_view(name), std::string_view("]")}) {
    const size_t left = static_cast<size_t>(suffix.data() + suffix.size() - at);
    at = std::copy_n(piece.data(), std::min(left, piece.size()), at);
  }

  at = line.data();
  char* const sentence_end = line.data() + line.size() - 1 - suffix_size;
  for (std::string_view piece : {std::string_view(function), std::string_view(": "), sentence}) {
    at = std::copy_n(piece.data(), std::min(static_cast<size_t>(sentence_end - at), piece.size()), at);
  }
  std::replace(line.data(), at, '\n', ' ');
  at = std::copy_n(suffix.data(), suffix_size, at);
  *at = '\0';
}

}  // namespace

void add_error_line(const char* function, std::string_view sentence, int code) {
  log_refusal(function, sentence, code);
  write_message(line_for_message(), function, sentence, code);
}

const char* take_error_text() {
  Messages* state = thread_messages;
  if (std::exchange(last_resort.is_new, false)) return last_resort.line.data();
  if (state == nullptr || state->count == 0) return nullptr;
  char* at = state->joined.data();
  for (size_t k = 0; k < state->count; ++k) {
    const char* line = state->ring[(state->next + kLines - 1 - k) % kLines].data();
    if (k > 0) *at++ = '\n';
    at = std::copy_n(line, std::strlen(line), at);
  }
  *at = '\0';
  state->count = 0;
  return state->joined.data();
}

int& last_runtime_error() {
  thread_local int code = 0;
  return code;
}

}  // namespace openaclnn
