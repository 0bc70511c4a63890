// Status and Result: how functions inside the library report failures: a code and an error message, never an
// exception.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace openaclnn {

// A return code of the public API and, if it is not 0, its error message. The message names the argument, its
// value and the accepted values. The wall adds the names of the function and the code.
//
// A success is one null pointer: a call passes some fifty checks, and each returns a Status.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(int code, std::string sentence)  // requires a code other than 0
      : failure_(new Failure{code, std::move(sentence)}) {}
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) : failure_(other.ok() ? nullptr : new Failure(*other.failure_)) {}
  Status& operator=(const Status& other) { return *this = Status(other); }

  bool ok() const { return failure_ == nullptr; }
  int code() const { return ok() ? 0 : failure_->code; }
  const std::string& sentence() const { return failure_->sentence; }  // requires a failure

 private:
  struct Failure {
    int code;
    std::string sentence;
  };
  std::unique_ptr<const Failure> failure_;
};

// A value, or the Status of the failure that prevented it.
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

// Returns the Status of an expression from the enclosing function if it is a failure.
#define OPENACLNN_TRY(...)                                                                   \
  do {                                                                                       \
    if (::openaclnn::Status try_status = (__VA_ARGS__); !try_status.ok()) return try_status; \
  } while (false)

// Returns the failure of an expression (a Result) from the enclosing function, or makes `name` a reference to
// its value.
#define OPENACLNN_TRY_ASSIGN(name, ...)                   \
  auto name##_result = (__VA_ARGS__);                     \
  if (!name##_result.ok()) return name##_result.status(); \
  auto& name = *name##_result
