// Judges pairs from standard input, for comparisons with other implementations of the rules. Each pair is a line of JSON and the bytes
// of its arrays: device, golden, bound and third (pair_stream.py writes them). Prints one line of JSON for each pair.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "judge/rules.h"

namespace {

using nlohmann::json;
using openaclnn_judge::Pair;
using openaclnn_judge::Rule;
using openaclnn_judge::Settings;
using openaclnn_judge::Verdict;
using openaclnn_verify::Array;

std::vector<std::byte> read_bytes(int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  if (!std::cin.read(reinterpret_cast<char*>(bytes.data()), count))
    throw std::runtime_error("the input ends within a pair");
  return bytes;
}

Array read_array(const json& head) {
  const Array shape = {static_cast<aclDataType>(head.at("dtype").get<int>()), head.at("dims"), nullptr};
  return openaclnn_verify::owned_array(shape.dtype, shape.dims, read_bytes(shape.bytes()));
}

openaclnn_verify::ZeroedDoubles read_doubles(int64_t count) {
  const std::vector<std::byte> bytes = read_bytes(count * int64_t{sizeof(double)});
  openaclnn_verify::ZeroedDoubles doubles(static_cast<size_t>(count));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(doubles.data()));
  return doubles;
}

Pair read_pair(const json& head) {
  Pair pair;
  pair.name = "out";
  pair.device = read_array(head.at("device"));
  pair.golden = read_array(head.at("golden"));
  if (head.at("bound")) pair.bound = read_doubles(pair.golden.numel());
  if (head.contains("third")) pair.third = read_array(head.at("third"));
  return pair;
}

Settings settings_of(const json& given) {
  Settings settings;
  settings.api = given.value("api", "");
  settings.level = given.value("level", "");
  if (given.contains("threshold")) settings.threshold = given.at("threshold");
  if (given.contains("rtol")) settings.rtol = given.at("rtol");
  if (given.contains("atol")) settings.atol = given.at("atol");
  settings.equal_nan = given.value("equal_nan", false);
  return settings;
}

// NaN and infinities are null.
json json_of(const Verdict& verdict) {
  json metrics = json::object();
  for (const openaclnn_judge::Metric& metric : verdict.metrics) metrics[metric.name] = metric.value;
  return {{"result", result_name(verdict.result)}, {"reason", verdict.reason}, {"metrics", metrics}};
}

json verdicts_of(const json& head) {
  const Pair pair = read_pair(head);
  const Settings settings = settings_of(head.at("settings"));
  json verdicts = json::object();
  for (const Rule& rule : openaclnn_judge::rules()) {
    if (head.contains("rules") && std::ranges::count(head.at("rules"), json(rule.name)) == 0) continue;
    const Verdict verdict = rule.apply(pair, settings);
    verdicts[rule.name] = head.at("metrics") ? json_of(verdict) : json(result_name(verdict.result));
  }
  return verdicts;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  try {
    while (std::getline(std::cin, line)) std::cout << verdicts_of(json::parse(line)) << '\n';
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rules_program: %s\n", failure.what());
    return 1;
  }
}
