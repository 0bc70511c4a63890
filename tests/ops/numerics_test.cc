// Measures the promised error bounds: compares millions of results of each operator and dtype with the
// formula in long double, and prints histograms of error / promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

constexpr int64_t kElements = 10'000'000;

// Results per operator and dtype; fewer on slow machines and with sanitizers.
int64_t elements() {
  static const int64_t chosen = [] {
    const char* const text = std::getenv("OPENACLNN_TEST_ELEMENTS");
    if (text == nullptr) return kElements;
    const long long number = std::atoll(text);
    std::printf("[   NOTE   ] OPENACLNN_TEST_ELEMENTS: %lld results per operator and dtype instead of %lld\n",
                number, static_cast<long long>(kElements));
    return static_cast<int64_t>(number);
  }();
  return chosen;
}

void run_and_judge(const Case& c, aclrtStream stream, Judge& judge) {
  std::vector<HostTensor> tensors = make_tensors(c);
  const std::vector<HostTensor> before = before_call(c, tensors);
  ASSERT_TRUE(succeeded(run_case(c, tensors, {.stream = stream}))) << c.name;
  const bool was_ok = judge.ok();
  judge_case(c, before, tensors, judge);
  EXPECT_TRUE(judge.ok() || !was_ok) << c.name << "\n" << judge.messages();
}

// Threads take the cases one by one and add up their results.
Judge judge_all(const std::vector<Case>& cases) {
  Judge all;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    use_device();
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    Judge judge;
    for (size_t k = next++; k < cases.size(); k = next++) run_and_judge(cases[k], stream, judge);
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    const std::lock_guard lock(mutex);
    all.merge(judge);
  };
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < std::max(std::thread::hardware_concurrency(), 1u); ++n) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return all;
}

// Totals over all operators, for the last lines of the program.
struct Totals {
  int64_t elements = 0, failures = 0;
  int outputs = 0;
  double worst = 0;
};
Totals& totals() {
  static Totals all;
  return all;
}

class Numerics : public testing::TestWithParam<std::string> {
 protected:
  static void TearDownTestSuite() {
    std::printf("figure elements %lld\nfigure failures %lld\nfigure outputs %d\nfigure worst %.3f\n",
                static_cast<long long>(totals().elements), static_cast<long long>(totals().failures),
                totals().outputs, totals().worst);
  }
};

TEST_P(Numerics, KeepThePromise) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t wanted = elements();
  const std::vector<Case> cases = numerics_cases(GetParam(), wanted);
  ASSERT_FALSE(cases.empty());
  const Judge judge = judge_all(cases);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s: %zu calls in %.1f s\n%s", GetParam().c_str(), cases.size(), seconds.count(),
              judge.table().c_str());
  EXPECT_TRUE(judge.ok()) << judge.messages();

  std::map<aclDataType, int64_t> compared;
  judge.for_each([&](const OutputRecord& record) {
    compared[record.dtype()] += record.elements() - record.skipped();
    totals().elements += record.elements() - record.skipped();
    totals().failures += record.failures();
    totals().worst = std::max(totals().worst, record.worst());
    ++totals().outputs;
    EXPECT_GT(record.elements(), 2 * record.skipped())
        << "the bounds leave half of an output out: " << record.row();
  });
  for (const auto& [dtype, count] : compared) EXPECT_GE(count, wanted) << dtype_name(dtype);
}

INSTANTIATE_TEST_SUITE_P(Operators, Numerics, testing::ValuesIn(operator_names()),
                         [](const auto& room) { return room.param; });

}  // namespace
}  // namespace openaclnn_test
