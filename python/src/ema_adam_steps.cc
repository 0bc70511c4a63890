// EmaAdamSteps: the steps of an optimizer for a group of PyTorch parameters. A model of small tensors spends
// most of a step on finding and describing them, so each step compares them with the previous one. As long as
// only addresses differ, it runs the same executor again.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "adam_attributes.h"
#include "array_sources.h"
#include "call.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "operators.h"
#include "repeatable.h"

namespace openaclnn::python {

namespace {

constexpr size_t kLists = 5;  // grads, parameters, first and second moments, averages

// The names of a parameter's state, in the order of the lists.
struct Words {
  PyObject* grad = PyUnicode_InternFromString("grad");
  PyObject* step = PyUnicode_InternFromString("step");
  std::array<PyObject*, 3> state = {PyUnicode_InternFromString("exp_avg"),
                                    PyUnicode_InternFromString("exp_avg_sq"),
                                    PyUnicode_InternFromString("ema_params")};
};

const Words& words() {
  static const Words& words = *new Words;
  return words;
}

// Returns a borrowed entry of a dict, or nullptr if it has none of this name.
PyObject* entry(PyObject* dict, PyObject* key) {
  PyObject* const value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

// Sets a flag while a step runs, also if it ends by an exception. Another thread must not run the same step.
class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

// Looks up parameters in the dict of states. Its order mostly is that of the parameters, so that the next
// entry is the one, and PyTorch need not compute hashes in Python.
class States {
 public:
  explicit States(PyObject* dict) : dict_(dict) {}

  // Returns a borrowed dict, or nullptr if the parameter has none.
  PyObject* of(PyObject* parameter) {
    PyObject *key = nullptr, *value = nullptr;
    const Py_ssize_t before = position_;
    if (PyDict_Next(dict_, &position_, &key, &value) == 0 || key != parameter) {
      position_ = before;
      value = entry(dict_, parameter);
    }
    return value != nullptr && PyDict_Check(value) ? value : nullptr;
  }

 private:
  PyObject* dict_;
  Py_ssize_t position_ = 0;
};

class EmaAdamSteps {
 public:
  void accept(const nb::list& counters) {
    forget();
    for (const nb::handle counter : counters) counters_.push_back(nb::borrow(counter));
  }

  bool find(nb::handle parameters, nb::handle states) {
    release();
    if (counters_.empty() || is_running_ || computes_on_gpu()) return false;
    if (!PyList_Check(parameters.ptr()) || !PyDict_Check(states.ptr())) return false;
    try {
      // Code of other threads may change the list, but not a tuple of its entries.
      const bool found = find_tensors(nb::tuple(parameters), states) && read_counters() && describe_tensors();
      if (!found) release();
      return found;
    } catch (nb::python_error& error) {
      release();
      if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C
      error.restore();
      PyErr_Clear();
    } catch (const nb::builtin_exception&) {
      release();  // the general step repeats the error
    }
    return false;
  }

  void release() {
    tensors_.clear();
    moved_.clear();
  }

  nb::object run(const AdamAttributes& attributes) {
    if (tensors_.empty() || is_running_) return nb::none();
    Place place("apply_fused_ema_adam_");
    place.use(tensors_, bytes_);
    place.use(step_);
    finish_interrupted_work();
    const int64_t step = count_ + 1;
    int code = 0;
    {
      const Running running(is_running_);
      const nb::gil_scoped_release unlocked;
      code = prepare(attributes);
      if (code == 0) {
        *step_ = step;
        code =
            run_and_wait(executor_.get(), openaclnnApplyFusedEmaAdamList, place.is_long() ? &place : nullptr);
      }
      if (code != 0 && code != kInterrupted) (void)aclGetRecentErrMsg();
    }
    if (code != 0) {
      forget();
      if (code == kInterrupted) throw nb::python_error();
      return nb::none();
    }
    return finish();
  }

 private:
  struct Move {
    size_t list, element;
    void* address;
  };

  size_t length() const { return counters_.size(); }

  // Everything of earlier steps is found again in the next one.
  void forget() {
    release();
    counters_.clear();
    executor_.reset();
    addresses_.clear();
  }

  // Takes references to the tensors, element by element. Returns false unless the counters of parameters with
  // gradients are those that were accepted.
  bool find_tensors(const nb::tuple& parameters, nb::handle states) {
    States state_of(states.ptr());
    tensors_.reserve(kLists * length());
    size_t found = 0;
    for (const nb::handle parameter : parameters) {
      nb::object grad = nb::steal(PyObject_GetAttr(parameter.ptr(), words().grad));
      if (!grad.is_valid()) throw nb::python_error();
      if (grad.is_none()) continue;
      PyObject* const state = state_of.of(parameter.ptr());
      if (state == nullptr || found == length()) return false;
      if (entry(state, words().step) != counters_[found].ptr()) return false;
      ++found;
      tensors_.push_back(std::move(grad));
      tensors_.push_back(nb::borrow(parameter));
      for (PyObject* const word : words().state) {
        PyObject* const tensor = entry(state, word);
        if (tensor == nullptr) return false;
        __builtin_prefetch(tensor);
        tensors_.push_back(nb::borrow(tensor));
      }
    }
    return found == length();
  }

  static bool describe_in_host_memory(nb::handle tensor, Array& array) {
    if (!describe_torch(tensor, {"tensor"}, array)) return false;
    return static_cast<Memory>(array.memory) == Memory::cpu;
  }

  // Compares all tensors with those of the executor. If one has another layout, all of them are described for
  // a new executor.
  bool describe_tensors() {
    size_t position = 0;
    bool is_same = executor_.is_valid() && addresses_.size() == tensors_.size();
    for (size_t at = 0; is_same && at < tensors_.size(); ++at) {
      Array array;
      if (!describe_in_host_memory(tensors_[at], array)) return false;
      is_same = layouts_.matches(array, position);
      if (array.data != addresses_[at]) moved_.push_back({at % kLists, at / kLists, array.data});
    }
    return is_same || describe_anew();
  }

  bool describe_anew() {
    executor_.reset();
    layouts_.clear();
    addresses_.clear();
    moved_.clear();
    bytes_ = 0;
    for (std::vector<Array>& list : arrays_) list.clear();
    for (size_t at = 0; at < tensors_.size(); ++at) {
      Array array;
      if (!describe_in_host_memory(tensors_[at], array)) return false;
      double bytes = static_cast<double>(aclDataTypeSize(array.dtype));
      for (const int64_t dim : array.shape()) bytes *= static_cast<double>(dim);
      bytes_ += bytes;
      layouts_.add(array);
      addresses_.push_back(array.data);
      arrays_[at % kLists].push_back(std::move(array));
    }
    return true;
  }

  // Returns whether the counters are float32 numbers of one value.
  bool read_counters() {
    steps_done_.clear();
    for (const nb::object& counter : counters_) {
      Array array;
      if (!describe_in_host_memory(counter, array) || array.dtype != ACL_FLOAT || array.rank != 0)
        return false;
      steps_done_.push_back(static_cast<float*>(array.data));
      if (*steps_done_.back() != *steps_done_.front()) return false;
    }
    const float count = *steps_done_.front();
    constexpr float kFirstThatIsNotCounted = 1 << 24;  // adding 1 does not change it
    if (!(count >= 0 && count < kFirstThatIsNotCounted)) return false;
    count_ = static_cast<int64_t>(count);
    return static_cast<float>(count_) == count;
  }

  // Makes the executor that computes with these addresses and attributes. Needs no lock of Python. Returns a
  // code.
  int prepare(const AdamAttributes& attributes) {
    if (!executor_.is_valid()) {
      for (size_t k = 0; k < kLists; ++k) {
        lists_[k] = make_list(arrays_[k]);
        arrays_[k].clear();
      }
    }
    // This also changes the tensors of the list, from which another executor would be made.
    for (const Move& move : moved_) {
      const int code = aclSetDynamicTensorAddr(executor_.get().executor, move.list, move.element,
                                               lists_[move.list].get(), move.address);
      if (code != 0) return code;
      addresses_[move.element * kLists + move.list] = move.address;
    }
    if (executor_.is_valid() && attributes == attributes_) return 0;
    attributes_ = attributes;
    const AdamAttributes& a = attributes;
    const int64_t one = 1;
    const Tensor step(aclCreateTensor(&one, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &one, 1, step_.get()));
    return executor_.prepare([&](uint64_t* bytes, aclOpExecutor** executor) {
      return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
          lists_[0].get(), lists_[1].get(), lists_[2].get(), lists_[3].get(), lists_[4].get(), nullptr,
          step.get(), nullptr, nullptr, a.lr, a.ema_decay, a.beta1, a.beta2, a.eps, a.mode, a.bias_correction,
          a.weight_decay, bytes, executor);
    });
  }

  // Counts the step. Returns the tensors that were written.
  nb::object finish() {
    for (float* const done : steps_done_) *done += 1;
    const size_t written = tensors_.size() / kLists * (kLists - 1) + counters_.size();
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(written)));
    if (!list.is_valid()) throw nb::python_error();
    Py_ssize_t n = 0;
    const auto append = [&](nb::object& tensor) {
      NB_LIST_SET_ITEM(list.ptr(), n++, tensor.release().ptr());
    };
    for (size_t at = 0; at < tensors_.size(); ++at) {
      if (at % kLists != 0) append(tensors_[at]);
    }
    for (const nb::object& counter : counters_) {
      nb::object reference = counter;
      append(reference);
    }
    release();
    return list;
  }

  // The last step.
  std::vector<nb::object> counters_;
  std::vector<void*> addresses_;  // element by element, as tensors_
  Layouts layouts_;
  std::array<TensorList, kLists> lists_;
  RepeatableExecutor executor_;
  AdamAttributes attributes_ = {};
  double bytes_ = 0;

  // The step that was found and has not run.
  std::vector<nb::object> tensors_;
  std::vector<Move> moved_;
  std::array<std::vector<Array>, kLists> arrays_;  // for a new executor
  std::vector<float*> steps_done_;
  int64_t count_ = 0;

  // Interrupted work goes on and reads it.
  std::shared_ptr<int64_t> step_ = std::make_shared<int64_t>();
  bool is_running_ = false;
};

// Python holds the object in a capsule: nanobind would report instances of a class that outlive it, although
// programs may keep optimizers until the end.
constexpr const char* kCapsuleName = "openaclnn.EmaAdamSteps";

nb::capsule make_steps() {
  return nb::capsule(new EmaAdamSteps, kCapsuleName,
                     [](void* steps) noexcept { delete static_cast<EmaAdamSteps*>(steps); });
}

EmaAdamSteps& steps_of(nb::handle capsule) {
  void* const steps = PyCapsule_GetPointer(capsule.ptr(), kCapsuleName);
  if (steps == nullptr) throw nb::python_error();
  return *static_cast<EmaAdamSteps*>(steps);
}

}  // namespace

void add_ema_adam_steps(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "ema_adam_steps", &make_steps,
      "Returns what openaclnn/torch/repeated_steps.py needs for the steps of one group of parameters.");
  module.def(
      "accept_ema_adam_counters",
      [](nb::handle steps, const nb::list& counters) { steps_of(steps).accept(counters); }, "steps"_a,
      "counters"_a, "Accepts the counters of the parameters with gradients, whose states are complete.");
  module.def(
      "find_ema_adam_step",
      [](nb::handle steps, nb::handle parameters, nb::handle states) {
        return steps_of(steps).find(parameters, states);
      },
      "steps"_a, "parameters"_a, "states"_a,
      "Finds the tensors of a step. Returns False if only the general step can run it.");
  module.def(
      "run_ema_adam_step",
      [](nb::handle steps, nb::handle lr, nb::handle ema_decay, nb::handle beta1, nb::handle beta2,
         nb::handle eps, nb::handle mode, nb::handle bias_correction, nb::handle weight_decay) {
        return steps_of(steps).run(
            to_adam_attributes(lr, ema_decay, beta1, beta2, eps, mode, bias_correction, weight_decay));
      },
      "steps"_a, "lr"_a.none(), "ema_decay"_a.none(), "beta1"_a.none(), "beta2"_a.none(), "eps"_a.none(),
      "mode"_a.none(), "bias_correction"_a.none(), "weight_decay"_a.none(),
      "Runs and counts the step that was found. Returns the tensors that were written, or None if the "
      "general step must run it.");
  module.def(
      "release_ema_adam_step", [](nb::handle steps) { steps_of(steps).release(); }, "steps"_a,
      "Forgets the step that was found.");
}

}  // namespace openaclnn::python
