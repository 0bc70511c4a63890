// The arguments that phase 1 of a call received. The call keeps them while recording is on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "runtime/device.h"

namespace openaclnn {

// One argument of phase 1, as the caller gave it.
struct RecordedArgument {
  struct TensorText {
    bool is_given = false;
    bool is_live = false;
    aclDataType dtype = ACL_DT_UNDEFINED;
    std::vector<int64_t> dims, strides;
    int64_t offset = 0;
    void* data = nullptr;
  };
  enum class Kind { tensor, list, integers, integer, real, flag, text };

  const char* name;
  Kind kind;
  std::vector<TensorText> tensors;  // one tensor, or the tensors of a list
  std::vector<int64_t> integers;
  double real = 0;
  std::string text;
  bool is_given = true;  // false if NULL
};

// All arguments of phase 1. Operators add them in the order of the signature: record("lr", lr)("mode", mode)…
class CallRecord {
 public:
  explicit CallRecord(const char* function) : function_(function) {}

  CallRecord& operator()(const char* name, const aclTensor* tensor);
  CallRecord& operator()(const char* name, const aclTensorList* list);
  CallRecord& operator()(const char* name, const aclIntArray* array);
  CallRecord& operator()(const char* name, const char* text);
  CallRecord& operator()(const char* name, double number);
  CallRecord& operator()(const char* name, int64_t number);
  CallRecord& operator()(const char* name, uint64_t number);
  CallRecord& operator()(const char* name, bool flag);

  const char* function() const { return function_; }
  Clock::time_point begin() const { return begin_; }
  const std::vector<RecordedArgument>& arguments() const { return arguments_; }

 private:
  RecordedArgument& add(const char* name, RecordedArgument::Kind kind);

  const char* function_;
  Clock::time_point begin_ = Clock::now();
  std::vector<RecordedArgument> arguments_;
};

}  // namespace openaclnn
