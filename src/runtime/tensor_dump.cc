// Dumps the tensors that aclDumpOpTensors names.
#include "runtime/tensor_dump.h"

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/npy_header.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/dump_stage.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace openaclnn {

namespace {

constexpr size_t kMostTensors = size_t{1} << 16;
constexpr size_t kMostTypeBytes = 128;  // file names hold at most 255 bytes

Status check_names(const char* op_type, const char* op_name) {
  if (op_type == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "opType is NULL; pass the type of the operator, such as \"Add\""};
  if (op_name == nullptr)
    return {ACLNN_ERR_PARAM_NULLPTR, "opName is NULL; pass the name of the operator, or an empty string"};
  const size_t bytes = std::string_view(op_type).size();
  if (bytes > 0 && bytes <= kMostTypeBytes) return {};
  return {ACLNN_ERR_PARAM_INVALID, text("opType has ", bytes, " bytes; it must have 1 to ", kMostTypeBytes)};
}

Result<TensorView> check_tensor(const std::string& name, const aclTensor* handle) {
  const std::shared_ptr<const Tensor> tensor = TensorTable::instance().find(handle);
  if (tensor == nullptr) {
    return Status(ACLNN_ERR_PARAM_INVALID, text(name, " is not a live tensor (", address_text(handle),
                                                "); pass NULL or one that aclCreateTensor returned"));
  }
  const TensorView& view = tensor->view;
  if (tensor->rank > kMaxRank) {
    return Status(ACLNN_ERR_PARAM_INVALID,
                  text(name, " has rank ", tensor->rank, "; at most ", kMaxRank, " is accepted"));
  }
  if (npy_type(view.dtype) == nullptr) {
    return Status(ACLNN_ERR_PARAM_INVALID,
                  text(name, " has dtype ", dtype_name(view.dtype), ", which .npy files cannot hold"));
  }
  OPENACLNN_TRY(check_extent(name.c_str(), view));
  if (view.is_empty()) return view;
  if (view.data == nullptr) {
    return Status(ACLNN_ERR_PARAM_NULLPTR,
                  text("the data address of ", name, " is NULL but its shape is ", shape_text(view.shape())));
  }
  const ByteRange range = byte_range(view);
  const void* const begin = static_cast<const char*>(view.data) + range.begin;
  OPENACLNN_TRY(
      check_range(name.c_str(), begin, static_cast<size_t>(range.end - range.begin), RangeOwner::device));
  return view;
}

Result<std::vector<DumpItem>> check_tensors(aclTensor* const* tensors, size_t first, size_t count) {
  std::vector<DumpItem> items;
  for (size_t k = first; k < first + count; ++k) {
    DumpItem& item = items.emplace_back();
    item.tensors.resize(1);
    if (tensors[k] == nullptr) continue;
    OPENACLNN_TRY_ASSIGN(view, check_tensor(text("tensors[", k, "]"), tensors[k]));
    item.tensors[0] = {true, view};
  }
  return items;
}

}  // namespace

Status dump_op_tensors(const char* op_type, const char* op_name, aclTensor* const* tensors, size_t inputs,
                       size_t outputs, aclrtStream stream) {
  const std::shared_ptr<DumpFolder> folder = DumpFolder::current();
  if (folder == nullptr) return {};
  OPENACLNN_TRY(check_names(op_type, op_name));
  if (inputs > kMostTensors || outputs > kMostTensors - inputs) {
    return {ACLNN_ERR_PARAM_INVALID, text("inputTensorNum is ", inputs, " and outputTensorNum is ", outputs,
                                          "; together at most ", kMostTensors, " are accepted")};
  }
  if (tensors == nullptr && inputs + outputs > 0) {
    return {ACLNN_ERR_PARAM_NULLPTR, text("tensors is NULL but inputTensorNum + outputTensorNum is ",
                                          inputs + outputs, "; pass that many tensors")};
  }
  OPENACLNN_TRY_ASSIGN(input_items, check_tensors(tensors, 0, inputs));
  OPENACLNN_TRY_ASSIGN(output_items, check_tensors(tensors, inputs, outputs));
  OPENACLNN_TRY_ASSIGN(target, find_stream_of_device(stream));
  if (!folder->selects(op_type, op_name)) return {};
  OPENACLNN_TRY(target->queue->can_be_awaited());
  OPENACLNN_TRY_ASSIGN(place, folder->add_call(api_of(op_type)));
  const auto entry = std::make_shared<DumpEntry>(folder, std::move(place), op_name);
  DumpStage stage;
  stage.entry = entry;
  add_inputs(stage, std::move(input_items), {});
  add_outputs(stage, std::move(output_items));
  OPENACLNN_TRY(queue_stage(std::move(stage), *target, true));
  if (entry->lacks_memory()) throw std::bad_alloc();
  OPENACLNN_TRY(Status(entry->status()));
  if (entry->is_finished()) return {};
  return {ACL_ERROR_RT_INVALID_HANDLE, "stream was destroyed before the tensors were written"};
}

}  // namespace openaclnn
