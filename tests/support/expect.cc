// Parses error lines, strictly.
#include "support/expect.h"

#include <algorithm>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_handle_no_return();
#endif

namespace openaclnn_test {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

namespace {

// To find uses after a return, AddressSanitizer keeps locals in frames of its own. Those that an exception
// skips are freed when the next one is thrown, but only if they lie below it on the stack. Thousands of rejected
// calls therefore fill that memory, and every function then searches all of it. Here, between two calls of the
// library, no frame above is skipped.
void forget_skipped_frames() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_handle_no_return();
#endif
}

}  // namespace

std::string_view code_name(int code) {
  switch (code) {
    case 161001: return "ACLNN_ERR_PARAM_NULLPTR";
    case 161002: return "ACLNN_ERR_PARAM_INVALID";
    case 361001: return "ACLNN_ERR_RUNTIME_ERROR";
    case 561000: return "ACLNN_ERR_INNER";
    case 561101: return "ACLNN_ERR_INNER_CREATE_EXECUTOR";
    case 561103: return "ACLNN_ERR_INNER_NULLPTR";
    case 107002: return "ACL_ERROR_RT_CONTEXT_NULL";
    case 107003: return "ACL_ERROR_RT_STREAM_CONTEXT";
    case 107017: return "ACL_ERROR_RT_INVALID_HANDLE";
    case 507035: return "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION";
    default: return "";
  }
}

AssertionResult is_error_line(std::string_view text, std::string_view function, int code,
                              const std::vector<std::string>& parts) {
  forget_skipped_frames();
  const auto wrong = [&](const std::string& why) {
    return AssertionFailure() << "error text <" << text << "> " << why;
  };
  std::string_view line = text;
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (line.empty()) return wrong("is empty");
  if (line.find('\n') != std::string_view::npos) return wrong("has more than one line");
  if (line.size() > 1023) return wrong("is longer than 1023 bytes");
  const std::string head = std::string(function) + ": ";
  const std::string tail = " [" + std::to_string(code) + " " + std::string(code_name(code)) + "]";
  if (!line.starts_with(head)) return wrong("does not begin with '" + head + "'");
  if (!line.ends_with(tail)) return wrong("does not end with '" + tail + "'");
  const std::string_view sentence = line.substr(head.size(), line.size() - head.size() - tail.size());
  for (const std::string& part : parts) {
    if (sentence.find(part) == std::string_view::npos) return wrong("does not contain '" + part + "'");
  }
  return AssertionSuccess();
}

AssertionResult succeeded(const Outcome& outcome) {
  return outcome.ok() ? AssertionSuccess() : AssertionFailure() << outcome.text();
}

AssertionResult failed_in_phase1(const Outcome& outcome, std::string_view function, int code,
                                 const std::vector<std::string>& parts) {
  if (outcome.phase1 != code)
    return AssertionFailure() << "phase 1 must return " << code << "; " << outcome.text();
  if (!outcome.out_values_untouched) return AssertionFailure() << "a failing phase 1 wrote to its out values";
  return is_error_line(outcome.error, function, code, parts);
}

AssertionResult failed_in_phase2(const Outcome& outcome, std::string_view function, int code,
                                 const std::vector<std::string>& parts) {
  if (outcome.phase1 != 0 || outcome.phase2 != code) {
    return AssertionFailure() << "phase 2 must return " << code << "; " << outcome.text();
  }
  return is_error_line(outcome.error, function, code, parts);
}

AssertionResult failed_in_sync(const Outcome& outcome, const std::vector<std::string>& parts) {
  if (outcome.phase2 != 0 || outcome.sync != 507035) {
    return AssertionFailure() << "the synchronise must return 507035; " << outcome.text();
  }
  return is_error_line(outcome.error, "aclrtSynchronizeStream", 507035, parts);
}

}  // namespace openaclnn_test
