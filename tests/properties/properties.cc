// Random properties of the operators: rapidcheck draws sizes and choices, and shrinks a failing case.
//
//   properties --seed S --seconds T [--only NAME]   rounds of all properties, or of one, until the time is over
//   properties --seed S --cases N [--only NAME]     one round with N cases of each: what a failure prints repeats itself so
//   properties --seed S --hashes N                  a hash of the results of each of N cases: the same for any number of threads
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "properties/case_properties.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr int64_t kElements = 500;            // elements of a case, approximately
constexpr int64_t kElementsToShare = 60000;   // enough elements that threads share a task
constexpr uint64_t kRoundsPerComparison = 5;  // rounds per comparison of numbers of threads
constexpr int kCasesOfARound = 100;           // of a property: sizes grow from the smallest to the largest

class RapidDraw final : public Draw {
 public:
  int64_t between(int64_t low, int64_t high) override { return *rc::gen::inRange<int64_t>(low, high + 1); }
  bool is_thorough() const override { return false; }
};

struct Property {
  std::string name;
  std::function<void(Draw&)> check;
};

std::vector<Property> all_properties() {
  std::vector<Property> all;
  for (const RandomCases& room : kRandomCases) {
    const auto make = room.make;
    const std::string name = room.operator_name;
    all.push_back(
        {name + "_follows_the_formula", [make](Draw& draw) { follows_the_formula(make(draw, kElements)); }});
    all.push_back({name + "_views_change_nothing", [make](Draw& draw) {
                     const Case c = make(draw, kElements);
                     views_change_nothing(c, draw);
                   }});
    all.push_back({name + "_kept_executors_change_nothing",
                   [make](Draw& draw) { kept_executors_change_nothing(make(draw, kElements)); }});
  }
  for (const auto& relations : {exact_relations(), optimizer_relations(), adjoint_relations()}) {
    for (const Relation& relation : relations) {
      all.push_back({relation.name, [&relation](Draw& draw) {
                       Random data(draw.seed());
                       relation.check(draw, data);
                     }});
    }
  }
  return all;
}

struct Counts {
  int64_t cases = 0, mistrusted = 0, failures = 0;
};

// Runs one case. It counts if most of its comparisons are meaningful.
void check_once(const Property& property, Counts& counts) {
  RapidDraw draw;
  const Comparisons before = comparisons();
  property.check(draw);  // a failed assertion throws
  const int64_t elements = comparisons().elements - before.elements;
  const int64_t telling = comparisons().telling - before.telling;
  ++(elements > 0 && 2 * telling > elements ? counts.cases : counts.mistrusted);
}

bool run_round(const Property& property, uint64_t seed, int cases, Counts& counts) {
  const rc::detail::TestParams params = {.seed = seed, .maxSuccess = cases};
  const rc::detail::TestMetadata metadata = {property.name, property.name};
  const auto result = rc::detail::checkTestable([&] { check_once(property, counts); }, metadata, params);
  if (result.is<rc::detail::SuccessResult>()) return true;
  ++counts.failures;
  std::printf("FAILED %s\n", property.name.c_str());
  rc::detail::printResultMessage(result, std::cout);
  std::cout << std::endl;
  std::printf("repeat with: properties --seed %" PRIu64 " --cases %d --only %s\n", seed, cases,
              property.name.c_str());
  return false;
}

// ---- threads: a process has one number of threads, so cases are compared between processes ----

void print_hashes(uint64_t seed, int cases) {
  Random random(seed);
  RandomDraw draw(random);
  for (int n = 0; n < cases; ++n) {
    const RandomCases& room = kRandomCases[static_cast<size_t>(n) % std::size(kRandomCases)];
    const Comparisons before = comparisons();
    const uint64_t hash = result_hash(room.make(draw, kElementsToShare));
    const bool tells =
        2 * (comparisons().telling - before.telling) > comparisons().elements - before.elements;
    std::printf("%016" PRIx64 " %d %s\n", hash, tells ? 1 : 0, room.operator_name);
  }
}

bool threads_change_nothing(uint64_t seed, int cases, Counts& counts) {
  const std::vector<std::string> arguments = {"--seed", std::to_string(seed), "--hashes",
                                              std::to_string(cases)};
  const auto with = [&](const char* threads) {
    const char* const allocator = std::getenv("OPENACLNN_ALLOCATOR");
    return run_self(arguments, {{"OPENACLNN_NUM_THREADS", threads},
                                {"OPENACLNN_ALLOCATOR", allocator != nullptr ? allocator : ""}});
  };
  const ProcessResult one = with("1"), many = with(seed % 2 == 0 ? "3" : "8");
  if (one.exit_code == 0 && many.exit_code == 0 && one.output == many.output) {
    for (size_t at = 0; (at = one.output.find('\n', at)) != std::string::npos; ++at) ++counts.cases;
    for (size_t at = 0; (at = one.output.find(" 0 ", at)) != std::string::npos; ++at)
      ++counts.mistrusted, --counts.cases;
    return true;
  }
  ++counts.failures;
  std::printf(
      "FAILED threads_change_nothing\nrepeat with: OPENACLNN_NUM_THREADS=1 (and 3, 8) properties --seed "
      "%" PRIu64 " --hashes %d\n%s\n",
      seed, cases,
      one.exit_code != 0    ? one.output.c_str()
      : many.exit_code != 0 ? many.output.c_str()
                            : "");
  return false;
}

struct Options {
  uint64_t seed = 1;
  double seconds = 0;
  int cases = 0, hashes = 0;
  std::string_view only;
};

bool read(int argc, char** argv, Options& options) {
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string_view word = argv[k];
    const char* const value = argv[k + 1];
    if (word == "--seed")
      options.seed = std::strtoull(value, nullptr, 0);
    else if (word == "--seconds")
      options.seconds = std::atof(value);
    else if (word == "--cases")
      options.cases = std::atoi(value);
    else if (word == "--hashes")
      options.hashes = std::atoi(value);
    else if (word == "--only")
      options.only = value;
    else
      return false;
  }
  return argc % 2 == 1;
}

int run(const Options& options) {
  if (options.hashes > 0) {
    print_hashes(options.seed, options.hashes);
    return 0;
  }
  using Time = std::chrono::steady_clock;
  const auto end = Time::now() + std::chrono::duration<double>(options.seconds);
  const std::vector<Property> properties = all_properties();
  Counts counts;
  uint64_t seed = options.seed;
  bool fine = true;
  do {
    for (const Property& property : properties) {
      if (!options.only.empty() && property.name != options.only) continue;
      const Counts before = counts;
      fine = run_round(property, seed, options.cases > 0 ? options.cases : kCasesOfARound, counts) && fine;
      if (4 * (counts.mistrusted - before.mistrusted) > counts.cases - before.cases)
        std::printf("%s is often mistrusted\n", property.name.c_str());
    }
    // Two processes cost as much as several rounds.
    if (options.only.empty() && (seed - options.seed) % kRoundsPerComparison == 0)
      fine = threads_change_nothing(seed, 70, counts) && fine;
    ++seed;
  } while (fine && Time::now() < end);
  std::printf("seeds %" PRIu64 " to %" PRIu64 "\n", options.seed, seed - 1);
  std::printf("figure cases %" PRId64 "\nfigure mistrusted %" PRId64 "\nfigure failures %" PRId64
              "\nfigure properties %zu\n",
              counts.cases, counts.mistrusted, counts.failures, properties.size() + 1);
  return fine && counts.cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace openaclnn_test

int main(int argc, char** argv) {
  openaclnn_test::Options options;
  if (!openaclnn_test::read(argc, argv, options)) {
    std::fprintf(stderr, "usage: properties --seed S (--seconds T | --cases N | --hashes N) [--only NAME]\n");
    return 2;
  }
  testing::GTEST_FLAG(throw_on_failure) = true;  // so that rapidcheck sees failures
  // They carry their messages along, and only the smallest case is of interest.
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  openaclnn_test::GuardedBuffer::keep_mappings();
  return openaclnn_test::run(options);
}
