// Fuzz target: sequences of API calls with live, dead, foreign and forged handles in any order, against a
// model of which calls succeed and of their effects.
#include <cstdlib>
#include <cstring>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "fuzz/descriptions.h"
#include "fuzz/objects.h"
#include "support/verify.h"
#include "verify/runner.h"

using namespace openaclnn_test;

namespace {

// grad 1, betas and eps 0, lr -1: a run adds 1 to var. Every stream has its own var, m, v and s, because
// streams run in any order. The first counter is that of the default stream.
struct Counter {
  float values[4];
};

// In memory of the library, which strict mode requires.
struct Numbers {
  Counter counters[Objects::kMost + 1];
  float grad;
  int64_t step;

  static Numbers& instance() {
    static Numbers* const numbers = [] {
      void* made = nullptr;
      require(aclrtMalloc(&made, sizeof(Numbers), ACL_MEM_MALLOC_HUGE_FIRST) == 0, "no memory for numbers");
      return static_cast<Numbers*>(made);
    }();
    return *numbers;
  }
};

class Sequence {
 public:
  explicit Sequence(Input& in) : in_(in) {
    numbers_.counters[0] = {};
    numbers_.grad = 1;
    numbers_.step = 1;
  }

  void run() {
    for (int calls = 0; calls < 24 && !in_.is_empty(); ++calls) step();
    finish();
  }

 private:
  using Choice = Objects::Choice;

  void step() {
    switch (in_.below(16)) {
      case 0:
      case 1: return create();
      case 2: return destroy(objects_.choose(in_), static_cast<Kind>(in_.below(kKinds)));
      case 3: {
        const Choice chosen = objects_.choose(in_);
        return destroy(chosen, chosen.object != nullptr ? chosen.object->kind : Kind::tensor);
      }
      case 4: return plan();
      case 5:
      case 6: return launch();
      case 7: return executor_setting();
      case 8: return descriptions_.read();
      case 9: return descriptions_.read_size();
      case 10: return synchronize();
      case 11: return record();
      case 12: return event_state();
      case 13: return memory();
      case 14: return descriptions_.change();
      default: return descriptions_.make_list();
    }
  }

  void create() {
    if (objects_.is_full()) return;
    const int64_t ints[] = {1, -2, 3};
    const float floats[] = {1, 2, 3};
    const bool bools[] = {true, false, true};
    double value = 1;
    void* made = nullptr;
    const auto kind = in_.pick({Kind::tensor, Kind::stream, Kind::event, Kind::scalar, Kind::int_array,
                                Kind::float_array, Kind::bool_array});
    const auto count = static_cast<uint64_t>(in_.below(4));
    switch (kind) {
      case Kind::scalar: made = aclCreateScalar(&value, ACL_DOUBLE); break;
      case Kind::int_array: made = aclCreateIntArray(ints, count); break;
      case Kind::float_array: made = aclCreateFloatArray(floats, count); break;
      case Kind::bool_array: made = aclCreateBoolArray(bools, count); break;
      case Kind::stream: require_outcome("aclrtCreateStream", aclrtCreateStream(&made), {0}); break;
      case Kind::event: require_outcome("aclrtCreateEvent", aclrtCreateEvent(&made), {0}); break;
      default:
        made = aclCreateTensor(ints + 2, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, ints, 1, floats_);
        break;
    }
    objects_.add(kind, made);
    require_outcome("create", 0, {0});
    if (kind == Kind::stream) counter_of(made) = {};
  }

  void destroy(const Choice& chosen, Kind kind) {
    int code = 0;
    void* const h = chosen.handle;
    switch (kind) {
      case Kind::tensor: code = aclDestroyTensor(static_cast<aclTensor*>(h)); break;
      case Kind::scalar: code = aclDestroyScalar(static_cast<aclScalar*>(h)); break;
      case Kind::int_array: code = aclDestroyIntArray(static_cast<aclIntArray*>(h)); break;
      case Kind::float_array: code = aclDestroyFloatArray(static_cast<aclFloatArray*>(h)); break;
      case Kind::bool_array: code = aclDestroyBoolArray(static_cast<aclBoolArray*>(h)); break;
      case Kind::tensor_list: code = aclDestroyTensorList(static_cast<aclTensorList*>(h)); break;
      case Kind::scalar_list: code = aclDestroyScalarList(static_cast<aclScalarList*>(h)); break;
      case Kind::executor: code = aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(h)); break;
      case Kind::stream: code = in_.chance() ? aclrtDestroyStream(h) : aclrtDestroyStreamForce(h); break;
      case Kind::event: code = aclrtDestroyEvent(h); break;
    }
    const int null_code = kind < Kind::executor ? 0 : kind == Kind::executor ? 561103 : 100000;
    require_outcome("destroy", code, {chosen.is(kind) ? 0 : chosen.is_null() ? null_code : stale_code(kind)});
    if (!chosen.is(kind)) return;
    chosen.object->is_live = false;
    for (const size_t element : chosen.object->elements) objects_.all[element].is_live = false;
  }

  // ---- executors ----

  void plan() {
    if (objects_.is_full()) return;
    const int64_t one = 1;
    aclTensor* t[6];
    for (int k = 0; k < 6; ++k) {
      t[k] = aclCreateTensor(&one, 1, k == 5 ? ACL_INT64 : ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &one, 1,
                             k == 0   ? static_cast<void*>(&numbers_.grad)
                             : k == 5 ? static_cast<void*>(&numbers_.step)
                                      : nullptr);
    }
    // Sometimes another object replaces one tensor.
    const auto position = static_cast<size_t>(in_.byte());
    const Choice spoilt = position < 6 ? objects_.choose(in_) : Choice{t[0], nullptr};
    aclTensor* passed[6];
    for (size_t k = 0; k < 6; ++k) passed[k] = k == position ? static_cast<aclTensor*>(spoilt.handle) : t[k];
    uint64_t bytes = 1;
    aclOpExecutor* executor = nullptr;
    const int code =
        aclnnApplyFusedEmaAdamGetWorkspaceSize(passed[0], passed[1], passed[2], passed[3], passed[4],
                                               passed[5], -1, 0, 0, 0, 0, 1, false, 0, &bytes, &executor);
    // Tensors of the run have three elements or other dims: another one never fits, whatever its state.
    if (position >= 6) {
      require_outcome("phase 1", code, {0});
    } else {
      require_outcome("phase 1", code, {spoilt.is_null() ? 161001 : 161002});
      require(bytes == 1 && executor == nullptr, "a phase 1 that failed changed its out values");
    }
    for (const aclTensor* tensor : t) require_outcome("aclDestroyTensor", aclDestroyTensor(tensor), {0});
    if (code == 0) objects_.add(Kind::executor, executor);
  }

  void launch() {
    const Choice executor = objects_.choose(in_, Kind::executor);
    const Choice stream = in_.chance() ? Choice{nullptr, nullptr} : objects_.choose(in_, Kind::stream);
    const bool has_stream = stream.is_null() || stream.is(Kind::stream);
    auto* const handle = static_cast<aclOpExecutor*>(executor.handle);
    if (executor.is(Kind::executor)) {
      // Any live tensor object may carry an address to an executor.
      const int64_t one = 1;
      aclTensor* const carrier =
          aclCreateTensor(&one, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &one, 1, nullptr);
      Counter& counter = counter_of(has_stream ? stream.handle : nullptr);
      for (size_t k = 0; k < 4; ++k) {
        const int code = in_.chance() ? aclSetTensorAddr(handle, k + 1, carrier, &counter.values[k])
                                      : aclSetOutputTensorAddr(handle, k, carrier, &counter.values[k]);
        require_outcome("aclSetTensorAddr", code, {0});
      }
      require_outcome("aclDestroyTensor", aclDestroyTensor(carrier), {0});
    }
    const int code = aclnnApplyFusedEmaAdam(nullptr, 0, handle, stream.handle);
    if (!executor.is(Kind::executor))
      return require_outcome("phase 2", code, {executor.is_null() ? 161001 : 561000});
    if (!executor.object->is_repeatable) executor.object->is_live = false;
    require_outcome("phase 2", code, {has_stream ? 0 : 107017});
    if (!has_stream) return;
    ++(stream.is_null() ? default_runs_ : stream.object->runs);
  }

  void executor_setting() {
    const Choice executor = objects_.choose(in_, Kind::executor), tensor = objects_.choose(in_, Kind::tensor);
    auto* const handle = static_cast<aclOpExecutor*>(executor.handle);
    const int state = executor.is(Kind::executor) ? 0 : executor.is_null() ? 561103 : 561000;
    if (in_.below(3) == 0) {
      require_outcome("aclSetAclOpExecutorRepeatable", aclSetAclOpExecutorRepeatable(handle), {state});
      if (state == 0) executor.object->is_repeatable = true;
      return;
    }
    // Nine addresses: six inputs, of which four are also outputs.
    const auto index = static_cast<size_t>(in_.pick<int64_t>({6, 9, 10, 11, -1, INT64_MIN}));
    const int with_tensor = tensor.is_null() ? 561103 : 161002;
    const int code = aclSetTensorAddr(handle, index, static_cast<aclTensor*>(tensor.handle), &numbers_.grad);
    if (state == 0 && index < 10 && tensor.is(Kind::tensor)) {
      // The last outputs: launching sets them again.
      return require_outcome("aclSetTensorAddr", code, {0});
    }
    require_outcome("aclSetTensorAddr", code, {state != 0 ? state : with_tensor, with_tensor});
    const int dynamic =
        aclSetDynamicTensorAddr(handle, index, 0, static_cast<aclTensorList*>(tensor.handle), nullptr);
    require_outcome("aclSetDynamicTensorAddr", dynamic, {state != 0 ? state : with_tensor, with_tensor});
  }

  // ---- streams, events, memory ----

  void synchronize() {
    const Choice stream = objects_.choose(in_, Kind::stream);
    const int wanted = stream.is_null() || stream.is(Kind::stream) ? 0 : 107017;
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    switch (in_.below(4)) {
      case 0: return require_outcome("aclrtStreamQuery", aclrtStreamQuery(stream.handle, &status), {wanted});
      case 1:
        require_outcome("aclrtSynchronizeStreamWithTimeout",
                        aclrtSynchronizeStreamWithTimeout(stream.handle, 60000), {wanted});
        break;
      case 2: return require_outcome("aclrtSynchronizeDevice", aclrtSynchronizeDevice(), {0});
      default:
        require_outcome("aclrtSynchronizeStream", aclrtSynchronizeStream(stream.handle), {wanted});
        break;
    }
    if (wanted != 0) return;
    const int64_t runs = stream.is_null() ? default_runs_ : stream.object->runs;
    require(counter_of(stream.handle).values[0] == static_cast<float>(runs),
            "a stream has run another number of tasks");
  }

  void record() {
    const Choice event = objects_.choose(in_, Kind::event);
    const Choice stream = in_.chance() ? Choice{nullptr, nullptr} : objects_.choose(in_, Kind::stream);
    const bool has_stream = stream.is_null() || stream.is(Kind::stream);
    const int event_code = event.is(Kind::event) ? 0 : event.is_null() ? 100000 : 107017;
    const int64_t action = in_.below(3);
    const int code = action == 0   ? aclrtRecordEvent(event.handle, stream.handle)
                     : action == 1 ? aclrtStreamWaitEvent(stream.handle, event.handle)
                                   : aclrtResetEvent(event.handle, stream.handle);
    if (event_code == 0 && has_stream) return require_outcome("event and stream", code, {0});
    require_outcome("event and stream", code, {event_code != 0 ? event_code : 107017, 107017});
  }

  void event_state() {
    const Choice event = objects_.choose(in_, Kind::event);
    const int wanted = event.is(Kind::event) ? 0 : event.is_null() ? 100000 : 107017;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus waited;
    switch (in_.below(3)) {
      case 0: return require_outcome("aclrtSynchronizeEvent", aclrtSynchronizeEvent(event.handle), {wanted});
      case 1:
        return require_outcome("aclrtQueryEventStatus", aclrtQueryEventStatus(event.handle, &recorded),
                               {wanted});
      default:
        return require_outcome("aclrtQueryEventWaitStatus", aclrtQueryEventWaitStatus(event.handle, &waited),
                               {wanted});
    }
  }

  void memory() {
    const uint64_t bytes = 1 + in_.byte();
    if (blocks_.size() < 6 && in_.chance()) {
      void* made = nullptr;
      require_outcome("aclrtMalloc", aclrtMalloc(&made, bytes, ACL_MEM_MALLOC_HUGE_FIRST), {0});
      blocks_.push_back({static_cast<unsigned char*>(made), bytes});
      return;
    }
    if (blocks_.empty()) return require_outcome("aclrtFree", aclrtFree(floats_), {107000});
    const size_t at = in_.byte() % blocks_.size();
    auto& [block, size] = blocks_[at];
    switch (in_.below(4)) {
      case 0:
        require_outcome("aclrtFree", aclrtFree(block), {0});
        require_outcome("aclrtFree", aclrtFree(block), {107000});
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1: return require_outcome("aclrtFree", aclrtFree(block + 1), {107000});
      case 2: {
        const bool fits = bytes <= size;
        require_outcome("aclrtMemset", aclrtMemset(block, size, 7, bytes), {fits ? 0 : 107000});
        if (fits) require(block[bytes - 1] == 7, "aclrtMemset did not set the last byte");
        return;
      }
      default: {
        unsigned char host[256];
        const bool fits = bytes <= size;
        return require_outcome(
            "aclrtMemcpy",
            aclrtMemcpy(host, sizeof(host), block, bytes <= size ? bytes : size + sizeof(host),
                        ACL_MEMCPY_DEVICE_TO_HOST),
            {fits ? 0 : 107000});
      }
    }
  }

  void finish() {
    require_outcome("aclrtSynchronizeDevice", aclrtSynchronizeDevice(), {0});
    require(counter_of(nullptr).values[0] == static_cast<float>(default_runs_),
            "the default stream lost a task");
    for (const Object& object : objects_.all) {
      if (object.is_live && object.kind == Kind::stream)
        require(counter_of(object.handle).values[0] == static_cast<float>(object.runs),
                "a stream lost a task");
    }
    for (auto& [block, size] : blocks_) require_outcome("aclrtFree", aclrtFree(block), {0});
    for (Object& object : objects_.all) {
      if (object.is_live) destroy({object.handle, &object}, object.kind);
    }
  }

  // After the default stream's, one for each object.
  Counter& counter_of(const void* stream) {
    const Object* const object = stream == nullptr ? nullptr : objects_.of(stream);
    return numbers_.counters[object == nullptr ? 0 : 1 + static_cast<size_t>(object - objects_.all.data())];
  }

  struct Block {
    unsigned char* data;
    uint64_t bytes;
  };
  Input& in_;
  Objects objects_;
  Descriptions descriptions_{in_, objects_};
  std::vector<Block> blocks_;
  Numbers& numbers_ = Numbers::instance();
  int64_t default_runs_ = 0;
  float floats_[64] = {};
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("OPENACLNN_NUM_THREADS", "1", 0);
  use_device();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Sequence(in).run();
  return 0;
}
