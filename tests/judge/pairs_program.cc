// Prints results of all operators for random arguments with their goldens and bounds: pairs_program COUNT. There are at least COUNT results
// of each operator. pair_stream.py reads them.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "golden_of_case.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_verify {
namespace {

using nlohmann::json;

void write_bytes(const void* bytes, int64_t count) {
  std::cout.write(static_cast<const char*>(bytes), count);
}

json head_of(aclDataType dtype, const Shape& dims) { return {{"dtype", dtype}, {"dims", dims}}; }

void write_pair(const char* operator_name, const HostTensor& result, const GoldenOutput& golden) {
  const bool has_doubles = golden.copied.empty();
  const bool has_bound = static_cast<int64_t>(golden.bound.size()) == result.numel();
  const aclDataType golden_dtype = has_doubles ? ACL_DOUBLE : golden.dtype;
  std::cout << json{{"label", operator_name},
                    {"device", head_of(result.dtype(), result.dims())},
                    {"golden", head_of(golden_dtype, golden.dims)},
                    {"bound", has_bound}}
            << '\n';
  const std::vector<std::byte> bytes = result.all_bytes();
  write_bytes(bytes.data(), static_cast<int64_t>(bytes.size()));
  write_bytes(has_doubles ? static_cast<const void*>(golden.exact.data()) : golden.copied.data(),
              result.numel() * element_bytes(golden_dtype));
  if (has_bound) write_bytes(golden.bound.data(), result.numel() * int64_t{sizeof(double)});
}

// Returns how many results were written. Goldens have the order of the results.
int64_t write_pairs(const RandomCases& cases, Draw& draw, int64_t elements) {
  const Case c = cases.make(draw, elements);
  const std::vector<HostTensor> tensors = make_tensors(c);
  const std::vector<HostTensor> before = before_call(c, tensors);
  if (!run_case(c, tensors).ok()) throw std::runtime_error("failed: " + c.name);
  const Golden golden = golden_of(cases.operator_name, golden_call(c, before, 1));
  size_t next = 0;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role == Role::input) continue;
    const GoldenOutput& output = golden.outputs.at(next++);
    if (output.dims != tensors[k].dims() || output.dtype != tensors[k].dtype())
      throw std::runtime_error("the golden has other results: " + c.name);
    write_pair(cases.operator_name, tensors[k], output);
  }
  return static_cast<int64_t>(next);
}

void write_all(int64_t count) {
  Random random(test_seed());
  RandomDraw draw(random);
  for (const RandomCases& cases : kRandomCases) {
    for (int64_t made = 0, calls = 0; made < count; ++calls)
      made += write_pairs(cases, draw, calls % 100 == 0 ? 2000 : 120);
  }
}

}  // namespace
}  // namespace openaclnn_verify

int main(int count, char** arguments) {
  std::ios::sync_with_stdio(false);
  try {
    openaclnn_verify::write_all(count > 1 ? std::atoll(arguments[1]) : 1);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "pairs_program: %s; %s\n", failure.what(), openaclnn_verify::seed_text().c_str());
    return 1;
  }
}
