// The scenarios of the operators: both phases of each, once and again with a kept executor, small and large
// enough for several threads. The calls are the valid ones of the rooms' schemas.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "failures/attempt.h"
#include "ops/room_schemas.h"
#include "support/schema_model.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/random.h"
#include "verify/room_descriptions.h"
#include "verify/runner.h"
#include "verify/tensor_list.h"

namespace failures {
namespace {

using namespace openaclnn_test;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

constexpr int kNoMemory = 207001, kNoMetaMemory = 561101, kNotQueued = 361001;

// A call whose arguments are made in advance: memory that only tests need must not fail.
class Prepared {
 public:
  Prepared(const Schema& schema, const CallArguments& valid)
      : description_(*openaclnn_verify::find_description(schema.function)),
        layout_(valid.layout.value_or("")) {
    CallHandles call = values_of(valid);
    for (const Parameter& parameter : description_.parameters) {
      if (!parameter.is_tensor()) continue;
      const TensorArgument& argument = valid.tensors[call.tensors.size()];
      const bool is_list = parameter.kind == Kind::tensor_list;
      call.tensors.push_back(!argument.is_given() ? nullptr
                             : is_list            ? static_cast<void*>(add_list(argument))
                                                  : add(argument));
    }
    if (valid.array) {
      const std::vector<int64_t>& values = valid.array->values;
      array_.reset(aclCreateIntArray(values.data(), values.size()));
      call.array = array_.get();
    }
    if (valid.layout) call.layout = layout_.data();
    call_ = described_call(description_, call, schema.fixed);
  }

  // Runs both phases `rounds` times. With `keep` one executor serves them all, and its first address is set
  // again in between.
  void run(Attempt& a, aclrtStream stream, int rounds, bool keep) {
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    const auto phase1 = [&] {
      return description_.phase1(call_.handles, call_.arguments, &workspace_bytes, &executor);
    };
    void* workspace = nullptr;
    for (int round = 0; round < rounds; ++round) {
      if (round == 0 || !keep) a.step("phase 1", {kNoMetaMemory}, phase1);
      if (round == 0 && keep) {
        a.step("aclSetAclOpExecutorRepeatable", {kNoMetaMemory},
               [&] { return aclSetAclOpExecutorRepeatable(executor); });
      }
      if (workspace == nullptr && workspace_bytes > 0) {
        a.step("aclrtMalloc", {kNoMemory},
               [&] { return aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST); });
      }
      if (keep) set_addresses(a, executor);
      const auto launch = [&] { return description_.phase2(workspace, workspace_bytes, executor, stream); };
      // A phase 2 that failed has consumed its executor.
      a.step("phase 2", {kNotQueued, kNoMemory}, launch, [&] {
        const int planned = keep ? 0 : phase1();
        return planned != 0 ? planned : launch();
      });
    }
    a.step("aclrtSynchronizeStream", {kNoMemory}, [&] { return aclrtSynchronizeStream(stream); });
    for (const size_t k : outputs_) {
      const std::vector<std::byte> bytes = tensors_[k].all_bytes();
      a.result(bytes.data(), bytes.size());
    }
    if (keep) a.always("aclDestroyAclOpExecutor", [&] { return aclDestroyAclOpExecutor(executor); });
    if (workspace != nullptr) a.always("aclrtFree", [&] { return aclrtFree(workspace); });
  }

 private:
  static constexpr size_t kListLength = 3;

  // Integers count from 0, which is valid for indices, slots and pages. Floats are small and positive.
  aclTensor* add(const TensorArgument& argument) {
    HostTensor& made =
        tensors_.emplace_back(argument.dtype, argument.dims, Layout::contiguous, Placement::library);
    if (argument.role != Role::input) outputs_.push_back(tensors_.size() - 1);
    constexpr size_t kPeriod = 61;  // encoding is slow
    std::array<uint64_t, kPeriod> bits;
    const bool is_whole = argument.dtype == ACL_INT64 || argument.dtype == ACL_INT32;
    for (uint64_t& b : bits) b = is_whole ? 0 : encode(argument.dtype, random_.magnitude(-8, 1));
    for (int64_t k = 0; k < made.numel(); ++k)
      made.set_bits(k, is_whole ? static_cast<uint64_t>(k) : bits[static_cast<size_t>(k) % kPeriod]);
    for (size_t k = 0; k < argument.elements.size(); ++k)
      made.set_bits(static_cast<int64_t>(k), static_cast<uint64_t>(argument.elements[k]));
    return handles_.emplace_back(made.describe()).get();
  }
  aclTensorList* add_list(const TensorArgument& argument) {
    std::vector<aclTensor*> elements;
    while (elements.size() < kListLength) elements.push_back(add(argument));
    return lists_.emplace_back(elements).get();
  }
  // The dtype of the first argument.
  void set_addresses(Attempt& a, aclOpExecutor* executor) {
    if (lists_.empty()) {
      a.step("aclSetTensorAddr", {kNoMetaMemory},
             [&] { return aclSetTensorAddr(executor, 0, handles_[0].get(), tensors_[0].data()); });
      return;
    }
    for (size_t k = 0; k < kListLength; ++k) {
      a.step("aclSetDynamicTensorAddr", {kNoMetaMemory},
             [&] { return aclSetDynamicTensorAddr(executor, 0, k, lists_[0].get(), tensors_[k].data()); });
    }
  }

  struct DestroyArray {
    void operator()(aclIntArray* array) const { (void)aclDestroyIntArray(array); }
  };

  const Description& description_;
  Random random_{7};
  std::vector<HostTensor> tensors_;
  std::vector<Descriptor> handles_;
  std::vector<TensorList> lists_;
  std::unique_ptr<aclIntArray, DestroyArray> array_;
  std::string layout_;
  DescribedCall call_;
  std::vector<size_t> outputs_;
};

// Returns the valid call without its optional arguments, with other floats in the first tensor. A large
// call has more columns.
CallArguments call_of(const Schema& schema, aclDataType dtype, bool is_large) {
  CallArguments call = schema.valid;
  const TensorArgument first = call.tensors[0];
  int64_t most = 1;
  for (const TensorArgument& tensor : call.tensors) most = std::max(most, count_elements(tensor.dims));
  constexpr int64_t kLargeElements = 50000;
  for (TensorArgument& tensor : call.tensors) {
    if (tensor.dtype == first.dtype) tensor.dtype = dtype;
    for (int64_t& dim : tensor.dims) {
      if (is_large && dim == first.dims.back()) dim *= kLargeElements / most;
    }
  }
  for (TensorArgument& tensor : call.tensors) {
    const Handle given = std::exchange(tensor.handle, Handle::null);
    if (tensor.name.ends_with(']') || verdict_of(schema, call).code != 0) tensor.handle = given;
  }
  return call;
}

}  // namespace

std::vector<Scenario> operator_scenarios() {
  struct Setting {
    const char *threads, *check;
  };
  constexpr Setting kSettings[] = {{"1", "report"}, {"3", "report"}, {"2", "strict"}, {"3", "silent"}};
  std::vector<Scenario> all;
  std::map<std::string, int> forms;
  for (const Schema& schema : all_schemas()) {
    const std::string function = openaclnn_verify::find_description(schema.function)->name() + ", form " +
                                 std::to_string(++forms[schema.function]);
    for (const auto& [dtype, is_large] : {std::pair(ACL_FLOAT, false), {ACL_FLOAT, true}, {ACL_BF16, true}}) {
      const CallArguments call = call_of(schema, dtype, is_large);
      if (verdict_of(schema, call).code != 0) continue;  // needs another dtype
      for (const Setting& setting : kSettings) {
        for (const bool keep : {false, true}) {
          const std::string name = function + ", " + dtype_name(dtype) + ", " +
                                   (is_large ? "large" : "small") + (keep ? ", kept executor, " : ", ") +
                                   setting.threads + " threads, " + setting.check;
          all.push_back({name,
                         {{"OPENACLNN_NUM_THREADS", setting.threads}, {"OPENACLNN_CHECK", setting.check}},
                         [schema, call, keep](Attempt& a) {
                           a.undisturbed("aclrtSetDevice", [] { return aclrtSetDevice(0); });
                           {
                             Prepared prepared(schema, call);
                             aclrtStream stream = nullptr;
                             a.undisturbed("aclrtCreateStream", [&] { return aclrtCreateStream(&stream); });
                             prepared.run(a, stream, 3, keep);
                             a.always("aclrtDestroyStream", [&] { return aclrtDestroyStream(stream); });
                           }
                           a.undisturbed("aclrtResetDevice", [] { return aclrtResetDevice(0); });
                         }});
        }
      }
    }
  }
  return all;
}

}  // namespace failures
