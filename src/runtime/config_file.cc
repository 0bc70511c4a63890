// A JSON validator: checks a text without storing it, so the core library needs no JSON library.
#include "runtime/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "acl/acl_base.h"
#include "base/cancellation.h"
#include "base/text.h"

namespace openaclnn {

namespace {

constexpr off_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 10;

// A recursive descent parser for RFC 8259. The nesting limit also bounds the stack.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  bool whole_text_is_json() { return value(0) && (skip_space(), at_ == text_.size()); }
  size_t position() const { return at_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool digits() {
    const size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > start;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }
  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const unsigned char c = static_cast<unsigned char>(text_[at_++]);
      if (c == '"') return true;
      if (c < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }
  bool escape() {
    if (take('u')) {
      for (int k = 0; k < 4; ++k, ++at_) {
        if (!std::isxdigit(static_cast<unsigned char>(peek()))) return false;
      }
      return true;
    }
    return at_ < text_.size() && std::string_view("\"\\/bfnrt").find(text_[at_++]) != std::string_view::npos;
  }
  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{': return depth < kMaxDepth && members(depth, '}', true);
      case '[': return depth < kMaxDepth && members(depth, ']', false);
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }
  bool members(int depth, char closing, bool named) {
    ++at_;
    skip_space();
    if (take(closing)) return true;
    while (true) {
      if (named) {
        skip_space();
        if (!string()) return false;
        skip_space();
        if (!take(':')) return false;
      }
      if (!value(depth + 1)) return false;
      skip_space();
      if (take(closing)) return true;
      if (!take(',')) return false;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

Status unreadable(const char* path, const std::string& why) {
  return {ACL_ERROR_INVALID_FILE,
          text("configPath '", path, "' ", why, "; it must be a readable JSON file of at most 1 MiB")};
}

// Closes the descriptor on destruction.
struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

}  // namespace

Status check_config_file(const char* path) {
  const CancellationHold no_cancellation;
  // O_NONBLOCK prevents a named pipe from blocking the caller.
  const File file{open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) return unreadable(path, text("cannot be opened (", std::strerror(errno), ")"));
  struct stat info = {};
  if (fstat(file.descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return unreadable(path, "is not a regular file");
  if (info.st_size > kMaxBytes) return unreadable(path, text("has ", info.st_size, " bytes"));
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < contents.size()) {
    const ssize_t got = read(file.descriptor, contents.data() + filled, contents.size() - filled);
    if (got < 0) return unreadable(path, text("cannot be read (", std::strerror(errno), ")"));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  contents.resize(filled);
  JsonReader reader(contents);
  if (reader.whole_text_is_json()) return {};
  return {ACL_ERROR_PARSE_FILE, text("configPath '", path, "' is not valid JSON with at most ", kMaxDepth,
                                     " levels of nesting (first error near byte ", reader.position(), ")")};
}

}  // namespace openaclnn
