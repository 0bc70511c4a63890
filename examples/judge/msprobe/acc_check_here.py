#!/usr/bin/env python3
# Runs `msprobe acc_check` on a machine without an NPU: openaclnn is the device.
"""usage: acc_check_here.py -api_info dump.json -o FOLDER

The options are those of `msprobe acc_check`. openaclnn stands in for torch_npu, so the device and the goldens are one library. This
shows that a dump can be read, and that goldens are registered. On an NPU run `msprobe acc_check` itself.
"""
import sys

import openaclnn.compat.torch_npu as device

from msprobe.pytorch.api_accuracy_checker.acc_check import acc_check
from msprobe.pytorch.dump.api_dump import api_register


def run(module, *args, **kwargs):
    """Runs a function on the device or as a golden. msprobe itself prefers torch.ops.npu, which has no out=(var, m, v)."""
    if module.device == acc_check.current_device and hasattr(device, module.api_name):
        return getattr(device, module.api_name)(*args, **kwargs)
    return api_register.npu_module_forward(module, *args, **kwargs)


def main():
    api_register.forward_methods["NPU"] = run
    sys.argv[0] = "acc_check"
    acc_check._acc_check()


if __name__ == "__main__":
    main()
