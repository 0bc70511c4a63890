// Status and Result: how every function inside the library reports failure: a code plus one sentence, never an exception.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace openaclnn {

// A return code of the public API and, when it is not 0, the sentence that explains it. The sentence names the argument,
// what it was and what is accepted; the wall adds the function's name and the code's name around it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(int code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}

  bool ok() const { return code_ == 0; }
  int code() const { return code_; }
  const std::string& sentence() const { return sentence_; }

 private:
  int code_ = 0;
  std::string sentence_;
};

// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status failure) : status_(std::move(failure)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace openaclnn

// Returns the failure of an expression (a Status) from the enclosing function, or goes on.
#define OPENACLNN_TRY(...)                                                                   \
  do {                                                                                       \
    if (::openaclnn::Status try_status = (__VA_ARGS__); !try_status.ok()) return try_status; \
  } while (false)

// Returns the failure of an expression (a Result) from the enclosing function, or makes `name` a reference to its value.
#define OPENACLNN_TRY_ASSIGN(name, ...)                   \
  auto name##_result = (__VA_ARGS__);                     \
  if (!name##_result.ok()) return name##_result.status(); \
  auto& name = *name##_result
