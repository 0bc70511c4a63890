// The function exp2_rows of the module, for attention on the CPU (openaclnn/compat/npu_ops/attention_exp2.py).
#include "base/copies.h"
#include "exp2/rows.h"
#include "operators.h"

namespace openaclnn::python {

namespace {

void exp2_rows(uintptr_t values, int64_t rows, int64_t columns, uintptr_t sums) {
  static Exp2Rows* const copy = best_copy<Exp2Rows>(OPENACLNN_COPIES(exp2_rows));
  copy(reinterpret_cast<float*>(values), rows, columns, reinterpret_cast<float*>(sums));
}

}  // namespace

void add_exp2(nanobind::module_& module) {
  using namespace nanobind::literals;
  module.def("exp2_rows", &exp2_rows, "values"_a, "rows"_a, "columns"_a, "sums"_a,
             nanobind::call_guard<nanobind::gil_scoped_release>(),
             "Replaces adjacent rows of float32 at an address by their powers of two, and writes the sums of "
             "the rows to another unless that is 0. The caller answers for the memory.");
}

}  // namespace openaclnn::python
