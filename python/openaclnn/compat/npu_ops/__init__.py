# Functions of torch_npu that compute with PyTorch's operators, one module for each kind.
"""openaclnn.compat.torch_npu has these functions under the same names. Each module registers its functions with
openaclnn.compat.npu_ops.registry."""
