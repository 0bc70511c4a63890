// Fuzz target: the reader of msprobe's dump.json, on any text and on entries of one call.
#include <algorithm>

#include "files/errors.h"
#include "fuzz/found.h"
#include "fuzz/input.h"
#include "fuzz/stored.h"
#include "judge/msprobe_dump.h"

using namespace openaclnn_test;

namespace {

constexpr int64_t kMostBytes = 4096;

constexpr const char* kCalls[] = {"NPU.npu_nsa_compress",      "NPU.npu_nsa_compress_infer",
                                  "NPU.npu_apply_adam_w",      "NPU.npu_apply_fused_ema_adamw",
                                  "Functional.embedding",      "Torch.embedding",
                                  "Aten.GroupedBiasAddGradV2", "Aten.ApplyFusedEmaAdamList"};

openaclnn_judge::Array zeros(const openaclnn_judge::RecordedTensor& tensor) {
  require(tensor.file.find('/') == std::string::npos && !tensor.file.empty(), "a file leaves the folder");
  const uint64_t bytes = openaclnn_files::checked_bytes("the tensor", tensor.dtype, tensor.dims);
  if (bytes > kMostBytes) throw openaclnn_files::BadInput("the file is truncated");
  return openaclnn_verify::owned_array(tensor.dtype, tensor.dims, std::vector<std::byte>(bytes));
}

void check(const openaclnn_judge::DumpedCall& dumped) {
  require(dumped.call.description != nullptr && !dumped.call.label.empty(), "a call has no operator");
  if (!dumped.skipped.empty()) return require_sentence(dumped.skipped);
  require(!dumped.call.inputs.empty() && !dumped.call.results.empty(), "a call has no inputs or results");
  for (const auto& [name, arrays] : dumped.call.inputs)
    require(arrays.size() == dumped.call.values.tensors.at(name).size(), "shapes and tensors differ");
  for (const auto& [name, arrays] : dumped.call.results)
    require(dumped.call.description->find(name)->is_result(), "a result is not one of the operator");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  const bool has_frame = in.chance();
  const std::string call = in.pick(kCalls);
  const size_t choices = std::min<size_t>(size, 2);
  std::string text(reinterpret_cast<const char*>(data) + choices, size - choices);
  if (has_frame) {  // the text is `{"input_args": …}`, and after a zero byte that of the backward call
    const size_t end = std::min(text.find('\0'), text.size());
    const std::string backward = end < text.size() ? text.substr(end + 1) : "null";
    text = "{\"data\":{\"" + call + ".0.forward\":" + text.substr(0, end) + ",\"" + call +
           ".0.backward\":" + backward + "}}";
  }
  try {
    openaclnn_judge::visit_msprobe_calls(text, zeros, check);
  } catch (const openaclnn_files::BadInput& error) {
    require_sentence(error.what());
  }
  return 0;
}
