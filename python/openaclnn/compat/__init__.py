# Names that other packages use for these operators: torch_npu, MindSpeed and pyACL. Each is a module that is imported on demand.
"""Importing openaclnn.compat.torch_npu, .mindspeed or .acl also makes `import torch_npu`, `import mindspeed…` or `import acl`
find these modules, unless the real ones are installed or loaded already. So a script written for them runs with one import more."""
import importlib.util
import sys
import types


_offered = {}  # what these modules put into sys.modules


def _is_foreign(name):
    return name in sys.modules and sys.modules[name] is not _offered.get(name)


def offer(name, module):
    """Makes `import name` find the module. A package that is installed, or was loaded from elsewhere, stays what it is.
    Returns whether it was offered."""
    parts = name.split(".")
    names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if any(map(_is_foreign, names)) or (parts[0] not in sys.modules and importlib.util.find_spec(parts[0]) is not None):
        return False
    for parent in names[:-1]:
        if parent not in sys.modules:
            sys.modules[parent] = _offered[parent] = types.ModuleType(parent, "Made by openaclnn.compat.")
            sys.modules[parent].__path__ = []
    sys.modules[name] = _offered[name] = module
    if len(parts) > 1:
        setattr(sys.modules[names[-2]], parts[-1], module)
    return True
