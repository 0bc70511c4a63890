// Converts codes of the C interface to the Python exceptions of openaclnn.errors.
#pragma once

#include <exception>
#include <string>

namespace openaclnn::python {

// A code that a C function returned, with this thread's error text.
class Failure : public std::exception {
 public:
  Failure(int code, std::string text) : code_(code), text_(std::move(text)) {}

  int code() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

// Takes this thread's error text. Throws Failure unless the code is 0.
void require_success(int code);

// Registers the translation of Failure to AclnnError and its subclasses.
void register_failures();

}  // namespace openaclnn::python
