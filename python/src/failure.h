// Converts codes of the C interface to the Python exceptions of openaclnn.errors.
#pragma once

#include <exception>
#include <string>

#include "names.h"

namespace openaclnn::python {

// A code that a C function returned, with this thread's error text and the function that the user called.
class Failure : public std::exception {
 public:
  Failure(int code, std::string text, const Caller& caller = {})
      : code_(code), text_(std::move(text)), caller_(caller) {}

  int code() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }
  const Caller& caller() const { return caller_; }

 private:
  int code_;
  std::string text_;
  Caller caller_;
};

// Takes this thread's error text. Throws Failure unless the code is 0.
void require_success(int code, const Caller& caller = {});

// Registers the translation of Failure to AclnnError and its subclasses.
void register_failures();

}  // namespace openaclnn::python
