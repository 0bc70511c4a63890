// Makes mistakes of phase 2 from the description of a call that runs, and loops over them.
#include "support/phase2_mistakes.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <utility>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

struct LaunchMistake {
  std::string what;
  int code;
  std::vector<std::string> sentence;
  std::vector<std::string> parts;  // the parts that it changes: mistakes that share a part cannot be combined
  std::function<void(LaunchArguments&)> apply;
};

void add_call_mistakes(std::vector<LaunchMistake>& list) {
  using Executor = LaunchArguments::Executor;
  const auto add = [&](const char* what, int code, const char* sentence, const char* part,
                       std::function<void(LaunchArguments&)> apply) {
    list.push_back({what, code, {sentence}, {part}, std::move(apply)});
  };
  const auto executor = [](Executor state) { return [state](LaunchArguments& a) { a.executor = state; }; };
  add("executor NULL", 161001, "executor is NULL", "executor", executor(Executor::null));
  add("executor of foreign bits", 561000, "executor is not live", "executor",
      executor(Executor::foreign_bits));
  add("executor consumed or destroyed", 561000, "executor is not live", "executor",
      executor(Executor::destroyed));
  add("executor made by another operator", 161002, "executor was created by ", "executor",
      executor(Executor::of_another_operator));
  add("no current context on this thread", 107002, "no current context", "context",
      [](LaunchArguments& a) { a.has_context = false; });
  add("stream neither NULL nor live", 107017, "stream is not a live stream", "stream",
      [](LaunchArguments& a) { a.stream = reinterpret_cast<aclrtStream>(uintptr_t{0x123456789ABCDEF0}); });
}

void add_workspace_mistakes(uint64_t required, std::vector<LaunchMistake>& list) {
  if (required == 0) return;
  const std::string needed = std::to_string(required) + " bytes are required";
  list.push_back(
      {"workspace NULL", 161001, {"workspace is NULL but " + needed}, {"workspace"}, [](LaunchArguments& a) {
         a.workspace = nullptr;
       }});
  for (const uint64_t bytes : {uint64_t{0}, required / 2, required - 1}) {
    list.push_back({"workspaceSize < required",
                    161002,
                    {"workspaceSize is " + std::to_string(bytes) + " but " + needed},
                    {"workspace"},
                    [bytes](LaunchArguments& a) { a.workspace_bytes = bytes; }});
  }
}

void add_address_mistakes(const Launch& launch, std::vector<LaunchMistake>& list) {
  for (size_t k = 0; k < launch.tensors.size(); ++k) {
    const LaunchTensor& t = launch.tensors[k];
    if (!t.is_accessed) continue;
    const std::string name = t.name;
    list.push_back(
        {"NULL data of " + name,
         161001,
         {name + " has a NULL data address"},
         {name},
         [k](LaunchArguments& a) { a.tensors[k] = placed_at(a.tensors[k], a.tensors[k], nullptr); }});
  }
  for (size_t k = 0; k < launch.tensors.size(); ++k) {
    const LaunchTensor& t = launch.tensors[k];
    const int64_t size = element_bytes(t.tensor.dtype());
    if (!t.is_accessed || size == 1) continue;
    list.push_back({"misaligned data of " + std::string(t.name),
                    161002,
                    {std::string(t.name) + " has the data address ",
                     "not a multiple of " + std::to_string(size) + " bytes"},
                    {t.name},
                    [k](LaunchArguments& a) { a.tensors[k] = moved(a.tensors[k], 1); }});
  }
}

void add_overlap_mistakes(const Launch& launch, uint64_t workspace_bytes, std::vector<LaunchMistake>& list) {
  for (size_t out = 0; out < launch.tensors.size(); ++out) {
    const LaunchTensor& output = launch.tensors[out];
    if (output.role == Role::input || !output.is_accessed) continue;
    const int64_t step = element_bytes(output.tensor.dtype());
    for (size_t k = 0; k < launch.tensors.size(); ++k) {
      const LaunchTensor& other = launch.tensors[k];
      if (k == out || !other.is_accessed || (other.role != Role::input && k < out)) continue;
      const int64_t last = bytes_of(other.tensor) - step;
      for (const int64_t distance : {int64_t{0}, step, -step, last, step - bytes_of(output.tensor)}) {
        const bool identical = distance == 0 && output.tensor.dtype() == other.tensor.dtype() &&
                               output.tensor.dims() == other.tensor.dims();
        if (identical && other.may_equal_output) continue;
        if (distance >= bytes_of(other.tensor)) continue;  // behind it: a single number may be that small
        list.push_back({std::string(output.name) + " over " + other.name + " at a distance of " +
                            std::to_string(distance) + " bytes",
                        161002,
                        {std::string(output.name) + " overlaps " + other.name,
                         other.may_equal_output ? "identical view" : "must not share memory"},
                        {output.name, other.name},
                        [out, k, distance](LaunchArguments& a) {
                          const HostTensor memory = a.tensors[k].alias();
                          a.tensors[out] = placed_at(a.tensors[out], memory,
                                                     static_cast<std::byte*>(memory.data()) + distance);
                        }});
      }
    }
  }
  if (workspace_bytes == 0) return;
  for (size_t k = 0; k < launch.tensors.size(); ++k) {
    const LaunchTensor& t = launch.tensors[k];
    if (!t.is_accessed) continue;
    for (const int64_t distance :
         {int64_t{0}, int64_t{3}, bytes_of(t.tensor) - 1, 1 - static_cast<int64_t>(workspace_bytes)}) {
      list.push_back({"workspace over " + std::string(t.name),
                      161002,
                      {"workspace overlaps " + std::string(t.name), "must not share memory"},
                      {"workspace", t.name},
                      [k, distance](LaunchArguments& a) {
                        a.workspace = static_cast<std::byte*>(a.tensors[k].data()) + distance;
                      }});
    }
  }
}

std::vector<LaunchMistake> launch_mistakes(const Launch& launch, uint64_t workspace_bytes) {
  std::vector<LaunchMistake> list;
  add_call_mistakes(list);
  add_workspace_mistakes(workspace_bytes, list);
  add_address_mistakes(launch, list);
  add_overlap_mistakes(launch, workspace_bytes, list);
  return list;
}

bool share_a_part(const LaunchMistake& one, const LaunchMistake& other) {
  return std::find_first_of(one.parts.begin(), one.parts.end(), other.parts.begin(), other.parts.end()) !=
         one.parts.end();
}

// The same call is tried with many dtypes; the list of rows has the length of one.
void print_once(const std::string& line) {
  static std::set<std::string> printed;
  if (printed.insert(line).second) std::printf("%s\n", line.c_str());
}

}  // namespace

int expect_launch_mistakes_in_order(const Launch& valid) {
  const Launch launch = remembering(valid);
  const uint64_t required = required_workspace(launch);
  const GuardedBuffer workspace(required);
  const auto arguments = [&] {
    return valid_arguments(launch, required > 0 ? workspace.data() : nullptr, required);
  };
  const std::vector<LaunchMistake> list = launch_mistakes(launch, required);
  for (const LaunchMistake& mistake : list) {
    LaunchArguments spoiled = arguments();
    mistake.apply(spoiled);
    EXPECT_TRUE(refused(launch, spoiled, mistake.code, mistake.sentence)) << mistake.what;
    print_once("  " + mistake.what);
  }
  int pairs = 0;
  int wrong = 0;
  for (size_t first = 0; first < list.size() && wrong < 10; ++first) {
    for (size_t second = first + 1; second < list.size() && wrong < 10; ++second) {
      if (share_a_part(list[first], list[second])) continue;
      LaunchArguments spoiled = arguments();
      list[second].apply(spoiled);
      list[first].apply(spoiled);
      const auto found = refused(launch, spoiled, list[first].code, list[first].sentence);
      EXPECT_TRUE(found) << list[first].what << " before " << list[second].what;
      ++pairs;
      wrong += !found;
    }
  }
  EXPECT_TRUE(workspace.margins_intact());
  EXPECT_TRUE(succeeded(run_arguments(launch, arguments()))) << "the call without a mistake";
  print_once(std::string(launch.function) + ": " + std::to_string(list.size()) + " mistakes, " +
             std::to_string(pairs) + " pairs of mistakes");
  return pairs;
}

void expect_misaligned_data_refused(const Launch& valid) {
  const Launch launch = remembering(valid);
  const uint64_t required = required_workspace(launch);
  const GuardedBuffer workspace(required);
  for (size_t k = 0; k < launch.tensors.size(); ++k) {
    const LaunchTensor& t = launch.tensors[k];
    const int64_t size = element_bytes(t.tensor.dtype());
    for (int64_t distance = 1; t.is_accessed && distance < size; ++distance) {
      LaunchArguments spoiled = valid_arguments(launch, workspace.data(), required);
      spoiled.tensors[k] = moved(t.tensor, distance);
      EXPECT_TRUE(refused(launch, spoiled, 161002,
                          {std::string(t.name) + " has the data address ",
                           "not a multiple of " + std::to_string(size) + " bytes"}))
          << "at a distance of " << distance;
    }
  }
}

}  // namespace openaclnn_test
