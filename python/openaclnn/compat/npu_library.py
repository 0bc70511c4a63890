# torch.ops.npu: the functions of torch_npu as PyTorch operators, which programs and compilers also call by that name.
"""openaclnn.compat.torch_npu calls install() and uninstall()."""
import types
from typing import Any

import torch

_WINDOWS = "int compress_block_size, int compress_stride"
_ADAM = ("float beta1_power, float beta2_power, float lr, float weight_decay, float beta1, float beta2, float epsilon, "
         "Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize")
_SCHEMAS = {
    "npu_nsa_compress": f"(Tensor input, Tensor weight, {_WINDOWS}, *, SymInt[]? actual_seq_len=None) -> Tensor",
    "npu_nsa_compress_grad": f"(Tensor grad, Tensor input, Tensor weight, {_WINDOWS}, *, SymInt[]? actual_seq_len=None) "
                             "-> (Tensor, Tensor)",
    "npu_nsa_compress_infer": f"(Tensor input, Tensor weight, Tensor slot_mapping, {_WINDOWS}, int page_block_size, *, "
                              "Tensor? block_table=None, SymInt[]? actual_seq_len=None, Tensor(a!) cache) -> Tensor(a!)",
    "npu_apply_adam_w.out": f"({_ADAM}, *, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) "
                            "-> (Tensor(a!), Tensor(b!), Tensor(c!))",
    "npu_format_cast": "(Tensor(a) input, int acl_format) -> Tensor(a)",
    "npu_format_cast_": "(Tensor(a!) input, int acl_format) -> Tensor(a!)",
}
_library: Any = None


def install(functions: types.ModuleType) -> None:
    """Defines the operators. `functions` is openaclnn.compat.torch_npu."""
    global _library
    _library = torch.library.Library("npu", "DEF")
    for name, schema in _SCHEMAS.items():
        _library.define(name + schema)
        if name == "npu_apply_adam_w.out":
            _library.impl(name, functions.npu_apply_adam_w_out, "CompositeExplicitAutograd")
            _library.impl(name, lambda *args, var, m, v: (var, m, v), "Meta")
        else:  # these consist of operators that have derivatives and are known to compilers
            _library.impl(name, getattr(functions, name), "CompositeImplicitAutograd")


def uninstall() -> None:
    """Removes the operators."""
    global _library
    if _library is None:
        return
    if hasattr(_library, "_destroy"):
        _library._destroy()
    _library = None
    if "npu" in vars(torch.ops):
        del torch.ops.npu
