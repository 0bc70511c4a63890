// The module openaclnn._native: the operators on arrays of any library.
#include "array_sources.h"
#include "failure.h"
#include "operators.h"
#include "torch_results.h"

NB_MODULE(_native, module) {
  using namespace openaclnn::python;
  module.doc() = "The operators of libopenaclnn.so on arrays of NumPy, PyTorch, CuPy and JAX.";
  import_numpy();
  register_failures();
  add_runtime(module);
  add_torch_results(module);
  add_adam_w(module);
  add_ema_adam(module);
  add_ema_adam_steps(module);
  add_embedding(module);
  add_exp2(module);
  add_grouped_bias(module);
  add_nsa(module);
  add_jax_checks(module);
  add_jax_targets(module);
}
