// Steps of scenarios: make requests fail, and judge the results.
#include "failures/attempt.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "runtime/failing_resources.h"
#include "support/verify.h"
#include "verify/random.h"

namespace failures {

using namespace runtime_test;

namespace {

std::string take_text() {
  const char* const text = aclGetRecentErrMsg();
  return text != nullptr ? text : "";
}

}  // namespace

void Attempt::start_run(bool may_refuse, int repeats) {
  may_refuse_ = may_refuse;
  repeats_ = repeats;
  hash_ = openaclnn_test::hash_text("");
}

void Attempt::require(bool condition, const std::string& what) const {
  if (condition) return;
  arm(false);
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  _exit(1);
}

void Attempt::result(const void* bytes, size_t count) {
  hash_ = openaclnn_test::hash_bytes(bytes, count, hash_);
}

int Attempt::newest_code() const {
  arm(false);
  newest_ = take_text();
  const size_t at = newest_.find(" [");
  return at == std::string::npos ? 561101 : std::atoi(newest_.c_str() + at + 2);
}

void Attempt::expect_failure(const char* name, std::initializer_list<int> codes, int code) const {
  const std::string what = std::string(name) + " returned " + std::to_string(code);
  require(std::find(codes.begin(), codes.end(), code) != codes.end(),
          what + ", not a code it may: " + newest_);
  require(!newest_.empty(), what + " without a message");
  require(newest_.find(" [" + std::to_string(code) + " ") != std::string::npos,
          what + " with the message: " + newest_);
  const auto says = [&](const char* words) { return newest_.find(words) != std::string::npos; };
  require(says("Failed to allocate") || says("configPath") || says("cannot be written") ||
              says("memory of this machine is unknown"),
          what + " without saying what was missing: " + newest_);
}

void Attempt::undisturbed(const char* name, const Call& call) const {
  const int code = call();
  require(code == 0, std::string(name) + " returned " + std::to_string(code) + " though nothing failed");
}

// Makes the call with one of its requests failing, counted from 0 in this call.
bool Attempt::fails(const Call& call, long request) const {
  refuse_again(requests() + request);
  arm(may_refuse_);
  const int code = call();
  arm(false);
  (void)take_text();
  return code != 0;
}

void Attempt::step(const char* name, std::initializer_list<int> codes, const Call& call, const Call& again) {
  const long before = refused(), seen_before = requests();
  std::string().swap(newest_);  // frees its memory, because held memory is counted
  arm(may_refuse_);
  const int code = call();
  arm(false);
  const bool was_refused = refused() > before;
  if (code == 0) {
    if (was_refused) {
      ++covered_steps_;
      const std::string text = take_text();
      require(text.empty(), std::string(name) + " succeeded with a message: " + text);
      stop_refusing();
    }
    return;
  }
  if (newest_.empty()) newest_ = take_text();
  require(was_refused,
          std::string(name) + " returned " + std::to_string(code) + " though nothing failed: " + newest_);
  ++failed_steps_;
  expect_failure(name, codes, code);
  const long request = first_refused() - seen_before;
  for (int k = 1; k < repeats_; ++k) {
    if (!fails(again, request)) return stop_refusing();  // the call has made what it needed
  }
  stop_refusing();  // from now on nothing fails
  std::string().swap(newest_);
  const int second = again();
  const std::string text = take_text();
  require(second == 0,
          std::string(name) + " returned " + std::to_string(second) + " when tried again: " + text);
}

}  // namespace failures
