// Steps of a scenario of failing requests: each is a call of the library that may fail once and must then
// work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace failures {

// One run of a scenario in its own process. Requests fail only inside steps.
class Attempt {
 public:
  using Call = std::function<int()>;

  // Makes the call. If it fails, a request must have failed in it, and the code must be one of these and be
  // in the error message. Then `again` must succeed while nothing fails. A call that succeeds despite a
  // failed request must have done its work.
  void step(const char* name, std::initializer_list<int> codes, const Call& call, const Call& again);
  void step(const char* name, std::initializer_list<int> codes, const Call& call) {
    step(name, codes, call, call);
  }
  // Makes a call in which nothing fails, for the subject of another scenario.
  void undisturbed(const char* name, const Call& call) const;
  // Makes a call that needs no memory, and so never fails.
  void always(const char* name, const Call& call) { step(name, {}, call); }
  // Makes a call that returns an object or NULL.
  template <class Create>
  auto create(const char* name, const Create& make) {
    decltype(make()) made = nullptr;
    step(name, {561101}, [&] { return (made = make()) != nullptr ? 0 : newest_code(); });
    return made;
  }

  // Adds to the scenario's results, which must be the same with any failure.
  void result(const void* bytes, size_t count);
  void result(int64_t number) { result(&number, sizeof number); }

  // Ends the process with a message unless the condition holds.
  void require(bool condition, const std::string& what) const;

  // `repeats`: how many times in a row the failing call is to fail.
  void start_run(bool may_refuse, int repeats = 1);
  uint64_t hash() const { return hash_; }
  long failed_steps() const { return failed_steps_; }
  long covered_steps() const { return covered_steps_; }

 private:
  int newest_code() const;  // of this thread's error text; -1 without one
  void expect_failure(const char* name, std::initializer_list<int> codes, int code) const;

  bool fails(const Call& call, long request) const;

  bool may_refuse_ = false;
  int repeats_ = 1;
  uint64_t hash_ = 0;
  long failed_steps_ = 0;   // returned a code
  long covered_steps_ = 0;  // continued without the failed request
  mutable std::string newest_;
};

struct Scenario {
  std::string name;
  std::vector<std::pair<const char*, const char*>> environment;
  std::function<void(Attempt&)> run;
};

std::vector<Scenario> runtime_scenarios();
std::vector<Scenario> operator_scenarios();

}  // namespace failures
