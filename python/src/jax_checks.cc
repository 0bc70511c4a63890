// Checks calls that JAX traces: the first phase runs for shapes and dtypes, long before XLA has the arrays.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "array_sources.h"
#include "call.h"
#include "jax_calls.h"
#include "operators.h"

namespace openaclnn::python {

namespace {

using jax_calls::View;
using Shape = std::pair<std::string, std::vector<int64_t>>;

aclDataType dtype_named(const std::string& word) {
  constexpr aclDataType kAll[] = {ACL_FLOAT,  ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE,    ACL_INT8,
                                  ACL_INT16,  ACL_INT32,   ACL_INT64, ACL_UINT8,     ACL_UINT16,
                                  ACL_UINT32, ACL_UINT64,  ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128};
  for (const aclDataType dtype : kAll) {
    if (word == array_dtype_name(dtype)) return dtype;
  }
  throw nb::type_error(("no operator supports arrays of dtype " + word).c_str());
}

// The first phases reject arrays that overlap or have no memory. These addresses are 16 TiB apart, and nothing
// reads what they point to.
std::vector<View> placeholders(const std::vector<Shape>& arrays) {
  constexpr uintptr_t kDistance = uintptr_t{1} << 44;
  std::vector<View> views;
  uintptr_t address = kDistance;
  for (const auto& [dtype, dims] : arrays) {
    views.push_back({dtype_named(dtype), dims, reinterpret_cast<void*>(address)});
    address += kDistance;
  }
  return views;
}

class Attributes {
 public:
  explicit Attributes(nb::dict values) : values_(std::move(values)) {}

  int64_t integer(const char* name) const { return nb::cast<int64_t>(nb::int_(values_[name])); }
  double real(const char* name) const { return nb::cast<double>(nb::float_(values_[name])); }
  std::vector<int64_t> integers(const char* name) const {
    return nb::cast<std::vector<int64_t>>(values_[name].attr("tolist")());
  }

 private:
  nb::dict values_;
};

// Functions by name. An exception keeps a pointer to the name.
constexpr const char* kFunctions[] = {"embedding",    "embedding_dense_backward", "grouped_bias_add_grad",
                                      "nsa_compress", "nsa_compress_grad",        "apply_fused_ema_adam"};

// Returns the code of a first phase. `views` are the inputs followed by the results.
int first_phase(const std::string& function, const std::vector<View>& views, const Attributes& a,
                jax_calls::Out phase1) {
  if (function == "embedding") return jax_calls::embedding(views.at(0), views.at(1), views.at(2), phase1);
  if (function == "embedding_dense_backward") {
    return jax_calls::embedding_dense_backward(views.at(0), views.at(1), views.at(2),
                                               a.integer("padding_idx"), a.integer("scale") != 0, phase1);
  }
  if (function == "grouped_bias_add_grad") {
    return jax_calls::grouped_bias_add_grad(views.at(0), views.at(1), views.at(2), a.integer("type"), phase1);
  }
  if (function == "apply_fused_ema_adam") {
    jax_calls::Step step = {1,
                            1.0,
                            a.real("ema_decay"),
                            a.real("beta1"),
                            a.real("beta2"),
                            a.real("eps"),
                            a.integer("mode"),
                            a.integer("bias_correction") != 0,
                            a.real("weight_decay")};
    return jax_calls::apply_fused_ema_adam(views.at(0), views.at(1), views.at(2), views.at(3), views.at(4),
                                           step, phase1);
  }
  const std::vector<int64_t> lengths = a.integers("lengths");
  const jax_calls::Windows windows = {a.integer("block"), a.integer("stride"), lengths, a.integer("type")};
  if (function == "nsa_compress")
    return jax_calls::nsa_compress(views.at(0), views.at(1), views.at(2), windows, phase1);
  if (function == "nsa_compress_grad") {
    return jax_calls::nsa_compress_grad(views.at(0), views.at(1), views.at(2), views.at(3), views.at(4),
                                        windows, phase1);
  }
  throw nb::value_error((function + " isn't a function of openaclnn.jax").c_str());
}

void check(const std::string& function, const std::vector<Shape>& arrays, nb::dict attributes) {
  const std::vector<View> views = placeholders(arrays);
  Prepared prepared;
  const int code = first_phase(function, views, Attributes(std::move(attributes)),
                               {&prepared.workspace_bytes, &prepared.executor});
  if (code == 0) (void)aclDestroyAclOpExecutor(prepared.executor);
  const auto* const name = std::ranges::find(kFunctions, function);
  require_success(code, {*name, Library::jax});
}

}  // namespace

void add_jax_checks(nb::module_& module) {
  module.def("jax_check", &check, nb::arg("function"), nb::arg("arrays"), nb::arg("attributes"),
             "Raises AclnnError if a function of openaclnn.jax rejects arrays, given as pairs of dtype and\n"
             "shape: its inputs, then its results.");
}

}  // namespace openaclnn::python
