// Creates the calls and judges them.
#include "judge/planted.h"

namespace openaclnn_test {

using openaclnn_judge::CallReport;
using openaclnn_judge::judge_call;
using openaclnn_judge::OutputReport;

double Calls::normal(double deviation) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += random_.uniform(0, 1);
  return sum * deviation;
}

Array Calls::normals(Shape dims, double deviation) {
  std::vector<double> values(static_cast<size_t>(openaclnn_verify::count_elements(dims)));
  for (double& value : values) value = normal(deviation);
  return array_of(dtype_, std::move(dims), values);
}

Array Calls::rows(int64_t count, int64_t below, aclDataType dtype) {
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = static_cast<double>(random_.below(below));
  return array_of(dtype, {count}, values);
}

namespace {

Array squares(const Array& array) {
  std::vector<double> values = values_of(array);
  for (double& value : values) value *= value;
  return array_of(array.dtype, array.dims, values);
}

}  // namespace

Call Calls::ema(int64_t mode) {
  Call call = call_of("aclnnApplyFusedEmaAdam");
  const Shape dims = {random_.between(30, 90), random_.between(40, 120)};
  add_input(call, "grad", normals(dims, .25));
  add_input(call, "varRef", normals(dims, .5));
  add_input(call, "mRef", normals(dims, .125));
  add_input(call, "vRef", squares(normals(dims, .25)));
  add_input(call, "sRef", normals(dims, .5));
  add_input(call, "step", array_of(ACL_INT64, {1}, {static_cast<double>(random_.between(2, 12))}));
  call.values.reals = {{"lr", .01},    {"emaDecay", .95}, {"beta1", .9},
                       {"beta2", .98}, {"eps", .01},      {"weightDecay", .1}};
  call.values.integers["mode"] = {mode};
  return call;
}

Call Calls::ema_list() {
  Call call = call_of("openaclnnApplyFusedEmaAdamList");
  for (int tensor = 0; tensor < 3; ++tensor) {
    const Call one = ema(1);
    for (const auto& [name, arrays] : one.inputs)
      if (name != "step") add_input(call, name + "s", arrays[0]);
    call.values.reals = one.values.reals;
  }
  add_input(call, "step", array_of(ACL_INT64, {1}, {4}));
  add_input(call, "gradScaleOptional", array_of(ACL_FLOAT, {1}, {8}));
  add_input(call, "foundInfOptional", array_of(ACL_FLOAT, {1}, {0}));
  return call;
}

Call Calls::adam_w() {
  Call call = call_of("aclnnApplyAdamWV2");
  const Shape dims = {random_.between(30, 90), random_.between(40, 120)};
  add_input(call, "varRef", normals(dims, .5));
  add_input(call, "mRef", normals(dims, .125));
  add_input(call, "vRef", squares(normals(dims, .25)));
  add_input(call, "maxGradNormOptionalRef", squares(normals(dims, .5)));
  add_input(call, "grad", normals(dims, .25));
  add_input(call, "step", array_of(ACL_INT64, {1}, {static_cast<double>(random_.between(2, 12))}));
  call.values.reals = {{"lr", .01}, {"beta1", .9}, {"beta2", .98}, {"eps", .01}, {"weightDecay", .1}};
  call.values.integers["amsgrad"] = {1};
  return call;
}

Call Calls::bias() {
  Call call = call_of("aclnnGroupedBiasAddGradV2");
  const int64_t groups = random_.between(6, 10), columns = random_.between(20, 40);
  std::vector<double> ends;
  double end = 0;
  for (int64_t j = 0; j < groups; ++j) ends.push_back(end += static_cast<double>(random_.between(150, 400)));
  add_input(call, "gradY", normals({static_cast<int64_t>(end), columns}, 1));
  add_input(call, "groupIdxOptional", array_of(ACL_INT64, {groups}, ends));
  return call;
}

Call Calls::embedding() {
  Call call = call_of("aclnnEmbedding");
  const int64_t table = random_.between(200, 400);
  add_input(call, "weight", normals({table, random_.between(16, 40)}, 1));
  add_input(call, "indices", rows(random_.between(100, 200), table - 1));
  return call;
}

Call Calls::backward() {
  Call call = call_of("aclnnEmbeddingDenseBackward");
  const int64_t table = random_.between(40, 80), positions = random_.between(800, 1600);
  add_input(call, "grad", normals({positions, random_.between(16, 40)}, 1));
  add_input(call, "indices", rows(positions, table - 1));
  call.values.integers["numWeights"] = {table};
  return call;
}

Call Calls::compress() {
  Call call = call_of("aclnnNsaCompress");
  const int64_t tokens = random_.between(300, 500), heads = random_.between(2, 4);
  add_input(call, "input", normals({tokens, heads, random_.between(16, 40)}, 1));
  add_input(call, "weight", normals({32, heads}, .5));
  call.values.integers["compressBlockSize"] = {32};
  call.values.integers["compressStride"] = {16};
  const int64_t first = random_.between(100, 140), second = random_.between(70, 100);
  call.values.integers["actSeqLenOptional"] = {first, first + second, tokens};
  return call;
}

Call Calls::compress_grad() {
  const Call forward = compress();
  Call call = call_of("aclnnNsaCompressGrad");
  const Tensors results = openaclnn_judge::run_here(forward).results;
  add_input(call, "outputGrad", normals(results.at("output")[0].dims, 1));
  add_input(call, "input", forward.inputs.at("input")[0]);
  add_input(call, "weight", forward.inputs.at("weight")[0]);
  call.values.integers = forward.values.integers;
  call.values.integers["actSeqLenOptionalOptional"] = call.values.integers["actSeqLenOptional"];
  call.values.integers.erase("actSeqLenOptional");
  return call;
}

Call Calls::cache(bool is_paged) {
  Call call = call_of("aclnnNsaCompressWithCache");
  const int64_t batches = random_.between(20, 30), heads = 2, columns = random_.between(16, 40);
  constexpr int64_t kBlock = 16, kStride = 8, kPage = 32, kPages = 3;  // pages of a sequence
  std::vector<int64_t> lengths;
  int64_t tokens = 0;
  for (int64_t b = 0; b < batches; ++b) {
    // Three of four sequences complete a window.
    lengths.push_back(kBlock + kStride * random_.between(1, 9) + (b % 4 == 0 ? 3 : 0));
    tokens += lengths.back();
  }
  std::vector<double> table, slots;
  const int64_t pages = batches * kPages;
  for (int64_t k = 0; k < pages; ++k) table.push_back(static_cast<double>((k * 7 + 5) % pages));
  for (int64_t b = 0; b < batches; ++b) slots.push_back(static_cast<double>(2 * ((b * 3 + 1) % batches) + 1));
  while (batches % 3 == 0 || pages % 7 == 0) return cache(is_paged);  // the numbers above would repeat
  if (is_paged) {
    add_input(call, "input", normals({pages, kPage, heads, columns}, 1));
  } else {
    add_input(call, "input", normals({tokens, heads, columns}, 1));
  }
  add_input(call, "weight", normals({kBlock, heads}, .5));
  add_input(call, "slotMapping", array_of(ACL_INT32, {batches}, slots));
  if (is_paged) {
    add_input(call, "blockTableOptional", array_of(ACL_INT32, {batches, kPages}, table));
    call.values.integers["pageBlockSize"] = {kPage};
  }
  add_input(call, "outputCache", normals({2 * batches + 1, heads, columns}, 1));
  call.values.integers["actSeqLenOptional"] = lengths;
  call.values.integers["compressBlockSize"] = {kBlock};
  call.values.integers["compressStride"] = {kStride};
  return call;
}

void change_input(Call& call, const std::string& parameter,
                  const std::function<double(int64_t, const std::vector<double>&)>& value) {
  for (Array& array : call.inputs.at(parameter)) {
    const std::vector<double> before = values_of(array);
    std::vector<double> after(before.size());
    for (size_t i = 0; i < after.size(); ++i) after[i] = value(static_cast<int64_t>(i), before);
    array = array_of(array.dtype, array.dims, after);
  }
}

Tensors results_of(Call call) {
  std::map<std::string, aclDataType> dtypes;
  aclDataType dtype = ACL_FLOAT;
  for (auto& [name, arrays] : call.inputs) {
    for (Array& array : arrays) {
      dtypes[name] = array.dtype;
      if (openaclnn_verify::float_format(array.dtype) == nullptr) continue;
      if (array.dtype != ACL_FLOAT) dtype = array.dtype;
      array = array_of(ACL_FLOAT, array.dims, values_of(array));
    }
  }
  openaclnn_judge::OurResults ours = run_here(call);
  EXPECT_EQ(ours.fault, "");
  for (auto& [name, arrays] : ours.results) {
    for (Array& array : arrays)
      array = array_of(dtypes.contains(name) ? dtypes[name] : dtype, array.dims, values_of(array));
  }
  return ours.results;
}

Tensors results_with(const Call& call, const std::string& parameter,
                     const std::function<double(int64_t, double)>& value) {
  Tensors results;
  for (const openaclnn_verify::GoldenOutput& output : golden_of(call, 1).outputs) {
    std::vector<double> values(output.exact.begin(), output.exact.end());
    for (size_t i = 0; i < values.size() && output.parameter == parameter; ++i)
      values[i] = value(static_cast<int64_t>(i), values[i]);
    results[output.parameter].push_back(array_of(output.dtype, output.dims, values));
  }
  return results;
}

namespace {

std::string start_of(const CallReport& report) {
  std::string text = openaclnn_judge::report_text({report});
  constexpr size_t kMost = 4000;
  return text.substr(0, kMost);
}

}  // namespace

void expect_cause(Call call, const Tensors& results, const std::string& name) {
  call.results = results;
  const CallReport report = judge_call(call, {});
  bool is_found = false;
  for (const OutputReport& output : report.outputs) {
    for (const openaclnn_judge::Cause& cause : output.causes) {
      EXPECT_EQ(cause.name, name) << start_of(report);
      EXPECT_GE(cause.explained, .9);
      is_found = true;
    }
    constexpr int64_t kMany = 200;
    EXPECT_TRUE(output.wrong <= kMany || !output.causes.empty()) << name << "\n" << start_of(report);
  }
  EXPECT_TRUE(is_found) << name << "\n" << start_of(report);
}

void expect_no_cause(Call call, const Tensors& results) {
  call.results = results;
  const CallReport report = judge_call(call, {});
  for (const OutputReport& output : report.outputs) EXPECT_TRUE(output.causes.empty()) << start_of(report);
}

}  // namespace openaclnn_test
