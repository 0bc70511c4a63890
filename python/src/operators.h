// Declares one function per group of operators, which adds them to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace openaclnn::python {

void add_adam_w(nanobind::module_& module);
void add_ema_adam(nanobind::module_& module);
void add_ema_adam_steps(nanobind::module_& module);
void add_embedding(nanobind::module_& module);
void add_exp2(nanobind::module_& module);
void add_grouped_bias(nanobind::module_& module);
void add_nsa(nanobind::module_& module);
void add_jax_checks(nanobind::module_& module);
void add_jax_targets(nanobind::module_& module);
void add_runtime(nanobind::module_& module);

}  // namespace openaclnn::python
