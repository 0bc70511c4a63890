// The doors of the operators: every tensor, array and list of each phase 1, the executor and the stream of each phase 2.
#include <memory>

#include "runtime/handle_doors.h"
#include "support/schema_model.h"
#include "verify/room_descriptions.h"

namespace runtime_test {

namespace {

using openaclnn_test::CallArguments;
using openaclnn_test::CallHandles;
using openaclnn_test::Schema;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

// Live objects for the valid call of a schema. Lists hold one tensor.
struct ValidCall {
  ValidCall(const Schema& schema, const Description& description)
      : phase1(schema.phase1), handles(openaclnn_test::values_of(schema.valid)) {
    for (const Parameter& parameter : description.parameters) {
      if (!parameter.is_tensor()) continue;
      const openaclnn_test::TensorArgument& t = schema.valid.tensors[handles.tensors.size()];
      const bool is_given = t.handle == openaclnn_test::Handle::live;
      const aclTensor* tensor = is_given ? make_tensor(t.dims, t.dtype, nullptr) : nullptr;
      are_lists.push_back(parameter.kind == Kind::tensor_list);
      handles.tensors.push_back(are_lists.back() ? static_cast<Handle>(aclCreateTensorList(&tensor, 1))
                                                 : const_cast<aclTensor*>(tensor));
      // The schema's call would create the lists.
      if (are_lists.back()) phase1 = openaclnn_test::phase1_of(description);
    }
    if (schema.valid.array)
      handles.array = aclCreateIntArray(schema.valid.array->values.data(), schema.valid.array->values.size());
    layout = schema.valid.layout.value_or("TND");
    handles.layout = layout.data();
  }
  ~ValidCall() {
    for (size_t k = 0; k < are_lists.size(); ++k) {
      if (are_lists[k]) (void)aclDestroyTensorList(static_cast<aclTensorList*>(handles.tensors[k]));
      if (!are_lists[k]) (void)aclDestroyTensor(static_cast<aclTensor*>(handles.tensors[k]));
    }
    (void)aclDestroyIntArray(handles.array);
  }
  ValidCall(const ValidCall&) = delete;
  ValidCall& operator=(const ValidCall&) = delete;

  int run(const CallHandles& call) const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const int code = phase1(call, &bytes, &executor);
    if (executor != nullptr) (void)aclDestroyAclOpExecutor(executor);
    return code;
  }
  aclOpExecutor* planned() const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(phase1(handles, &bytes, &executor), 0);
    return executor;
  }

  openaclnn_test::Phase1Call phase1;
  std::string layout;
  CallHandles handles;
  std::vector<bool> are_lists;
};

int code_without(const Schema& schema, const std::function<void(CallArguments&)>& drop) {
  CallArguments call = schema.valid;
  drop(call);
  return openaclnn_test::verdict_of(schema, call).code;
}

}  // namespace

void HandlesTest::make_operator_doors() {
  for (const Schema& schema : schemas_) {
    const Description* const description = openaclnn_verify::find_description(schema.function);
    ASSERT_NE(description, nullptr) << schema.function;
    const auto valid = std::make_shared<const ValidCall>(schema, *description);
    size_t tensors = 0;
    for (const Parameter& parameter : description->parameters) {
      const std::string name = schema.function + ", " + parameter.name;
      if (parameter.is_tensor()) {
        const size_t k = tensors++;
        const auto without = [k](CallArguments& a) { a.tensors[k].handle = openaclnn_test::Handle::null; };
        const auto call = [valid, k](Handle h) {
          CallHandles spoilt = valid->handles;
          spoilt.tensors[k] = h;
          return valid->run(spoilt);
        };
        // The schema has no missing lists.
        if (parameter.kind == Kind::tensor_list)
          add(name, 'L', parameter.is_optional ? 0 : 161001, 161002, call);
        else
          add(name, 'T', code_without(schema, without), 161002, call);
      }
      if (parameter.kind == Kind::integers) {
        const auto without = [](CallArguments& a) { a.array->handle = openaclnn_test::Handle::null; };
        add(name, 'I', code_without(schema, without), 161002, [valid](Handle h) {
          CallHandles spoilt = valid->handles;
          spoilt.array = as<aclIntArray>(h);
          return valid->run(spoilt);
        });
      }
    }

    const openaclnn_verify::Phase2 phase2 = description->phase2;
    add(description->function, 'E', 161001, 561000,
        [phase2](Handle h) { return phase2(nullptr, 0, as<aclOpExecutor>(h), nullptr); });
    // NULL is the default stream; then the missing addresses are found.
    add(description->function + ", stream", 'S', 161001, 107017,
        [phase2, valid](Handle h) { return phase2(nullptr, 0, valid->planned(), h); });
  }
}

}  // namespace runtime_test
