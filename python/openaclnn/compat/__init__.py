# Names that other packages use for these operators: torch_npu, MindSpeed and pyACL. Each is a module that is imported on demand.
"""Importing openaclnn.compat.torch_npu, .mindspeed or .acl also makes `import torch_npu`, `import mindspeed…` or `import acl`
find these modules, unless the real ones are installed. So a script written for them runs with one import more."""
import importlib.util
import sys
import types


def offer(name, module):
    """Makes `import name` find the module. A package that is installed stays what it is. Returns whether it was offered."""
    top = name.split(".")[0]
    if top not in sys.modules and importlib.util.find_spec(top) is not None:
        return False
    parts = name.split(".")
    for count in range(1, len(parts)):
        parent = ".".join(parts[:count])
        if parent not in sys.modules:
            sys.modules[parent] = types.ModuleType(parent, "Made by openaclnn.compat.")
            sys.modules[parent].__path__ = []
    sys.modules[name] = module
    if len(parts) > 1:
        setattr(sys.modules[".".join(parts[:-1])], parts[-1], module)
    return True
