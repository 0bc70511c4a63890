// The doors of the operators: every tensor, array and list of each phase 1, the executor and the stream of each phase 2.
#include <memory>

#include "openaclnn/apply_fused_ema_adam_list.h"
#include "runtime/handle_doors.h"
#include "support/schema_model.h"
#include "verify/room_descriptions.h"

namespace runtime_test {

namespace {

using openaclnn_test::CallArguments;
using openaclnn_test::CallHandles;
using openaclnn_test::Schema;

// Live objects for the valid call of a schema.
struct ValidCall {
  explicit ValidCall(const Schema& s) : schema(s) {
    for (const openaclnn_test::TensorArgument& t : schema.valid.tensors) {
      const bool is_given = t.handle == openaclnn_test::Handle::live;
      handles.tensors.push_back(is_given ? make_tensor(t.dims, t.dtype, nullptr) : nullptr);
    }
    if (schema.valid.array)
      handles.array = aclCreateIntArray(schema.valid.array->values.data(), schema.valid.array->values.size());
    layout = schema.valid.layout.value_or("TND");
    handles.layout = layout.data();
    handles.numbers = schema.valid.numbers;
    handles.reals = schema.valid.reals;
    handles.flags = schema.valid.flags;
  }
  ~ValidCall() {
    for (const aclTensor* tensor : handles.tensors) (void)aclDestroyTensor(tensor);
    (void)aclDestroyIntArray(handles.array);
  }
  ValidCall(const ValidCall&) = delete;
  ValidCall& operator=(const ValidCall&) = delete;

  int run(const CallHandles& call) const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const int code = schema.phase1(call, &bytes, &executor);
    if (executor != nullptr) (void)aclDestroyAclOpExecutor(executor);
    return code;
  }
  aclOpExecutor* planned() const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(schema.phase1(handles, &bytes, &executor), 0);
    return executor;
  }

  const Schema& schema;
  std::string layout;
  CallHandles handles;
};

int code_without(const Schema& schema, const std::function<void(CallArguments&)>& drop) {
  CallArguments call = schema.valid;
  drop(call);
  return openaclnn_test::verdict_of(schema, call).code;
}

// The lists of the list operator are not handles of its schema: they are made of its tensors there.
int list_phase1_with(size_t position, Handle handle) {
  std::vector<aclTensorList*> lists;
  for (int k = 0; k < 5; ++k) {
    const aclTensor* element = make_tensor({1}, ACL_FLOAT, nullptr);
    lists.push_back(aclCreateTensorList(&element, 1));
  }
  aclTensor* const step = make_tensor({1}, ACL_INT64, nullptr);
  std::vector<Handle> passed(lists.begin(), lists.end());
  passed.insert(passed.end(), {nullptr, step, nullptr, nullptr});
  passed[position] = handle;
  const auto list = [&](size_t k) { return static_cast<aclTensorList*>(passed[k]); };
  const auto tensor = [&](size_t k) { return static_cast<aclTensor*>(passed[k]); };
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const int code = openaclnnApplyFusedEmaAdamListGetWorkspaceSize(list(0), list(1), list(2), list(3), list(4),
                                                                  list(5), tensor(6), tensor(7), tensor(8), 1,
                                                                  0, 0, 0, 0, 1, false, 0, &bytes, &executor);
  if (executor != nullptr) (void)aclDestroyAclOpExecutor(executor);
  // Clean up without touching the code's sentence: a success adds none.
  for (const aclTensorList* made : lists) (void)aclDestroyTensorList(made);
  (void)aclDestroyTensor(step);
  return code;
}

}  // namespace

void HandlesTest::make_operator_doors() {
  for (const Schema& schema : schemas_) {
    const std::string phase1 = schema.function;
    const bool takes_lists = phase1.starts_with("openaclnn");
    const auto valid = std::make_shared<const ValidCall>(schema);
    for (size_t k = 0; k < schema.valid.tensors.size() && !takes_lists; ++k) {
      add(phase1 + ", " + schema.valid.tensors[k].name, 'T',
          code_without(schema, [k](CallArguments& a) { a.tensors[k].handle = openaclnn_test::Handle::null; }),
          161002, [valid, k](Handle h) {
            CallHandles call = valid->handles;
            call.tensors[k] = as<aclTensor>(h);
            return valid->run(call);
          });
    }
    for (size_t k = 0; k < 9 && takes_lists; ++k) {
      const bool is_optional = k == 5 || k > 6;
      add(phase1 + ", " + std::to_string(k), k < 6 ? 'L' : 'T', is_optional ? 0 : 161001, 161002,
          [k](Handle h) { return list_phase1_with(k, h); });
    }
    if (schema.valid.array) {
      add(phase1 + ", array", 'I',
          code_without(schema, [](CallArguments& a) { a.array->handle = openaclnn_test::Handle::null; }),
          161002, [valid](Handle h) {
            CallHandles call = valid->handles;
            call.array = as<aclIntArray>(h);
            return valid->run(call);
          });
    }

    const openaclnn_verify::Description* const description = openaclnn_verify::find_description(phase1);
    ASSERT_NE(description, nullptr) << phase1;
    const openaclnn_verify::Phase2 phase2 = description->phase2;
    add(description->function, 'E', 161001, 561000,
        [phase2](Handle h) { return phase2(nullptr, 0, as<aclOpExecutor>(h), nullptr); });
    // NULL is the default stream; then the missing addresses are found.
    add(description->function + ", stream", 'S', 161001, 107017,
        [phase2, valid](Handle h) { return phase2(nullptr, 0, valid->planned(), h); });
  }
}

}  // namespace runtime_test
