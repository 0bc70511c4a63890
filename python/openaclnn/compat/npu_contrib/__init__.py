# torch_npu.contrib: the modules in this folder are imported under its name.
"""openaclnn.compat.torch_npu offers this package as torch_npu.contrib. It contains transfer_to_npu."""
