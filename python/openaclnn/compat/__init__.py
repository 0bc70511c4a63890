# Names that other packages use for these operators: torch_npu, MindSpeed and pyACL. Each is a module that is imported on
# demand.
"""Importing openaclnn.compat.torch_npu, .mindspeed or .acl also makes `import torch_npu`, `import mindspeed…` or `import
acl` find these modules, unless the real ones are installed or already loaded. To run a program that is written for them, add
one import before its own, or start it with one of these commands:

    python -m openaclnn.compat SCRIPT [arguments]
    python -m openaclnn.compat -m MODULE [arguments]
    pytest -p openaclnn.compat.torch_npu -p openaclnn.compat.mindspeed
"""
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

_offered: dict[str, types.ModuleType] = {}  # modules that this package put into sys.modules


class _Absent(importlib.abc.MetaPathFinder):
    """The last finder. For missing parts of the offered packages it raises an error that says why they are missing."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        for package, module in _offered.items():
            # `from torch_npu.npu import part` asks for the part under the own name of the module.
            for prefix in (package + ".", module.__name__ + "."):
                if name.startswith(prefix):
                    part = f"{package}.{name[len(prefix):]}"
                    raise ModuleNotFoundError(f"No module named {part!r}: openaclnn.compat stands in for {package} and has the "
                                              "parts that docs/from_torch_npu.md lists", name=part)


def _is_foreign(name: str) -> bool:
    return name in sys.modules and sys.modules[name] is not _offered.get(name)


def offer(name: str, module: types.ModuleType, *, beside: bool = False) -> bool:
    """Makes `import name` find the module. A package that is installed, or was loaded from elsewhere, is not replaced; only
    with beside may the module join such a package. Returns whether the module was offered."""
    parts = name.split(".")
    names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if any(map(_is_foreign, names[1:] if beside else names)):
        return False
    if parts[0] not in sys.modules and importlib.util.find_spec(parts[0]) is not None:
        return False
    if not any(isinstance(finder, _Absent) for finder in sys.meta_path):
        sys.meta_path.append(_Absent())
    for parent in names[:-1]:
        if parent not in sys.modules:
            sys.modules[parent] = _offered[parent] = types.ModuleType(parent, "Made by openaclnn.compat.")
            sys.modules[parent].__path__ = []
            # Programs ask importlib.util.find_spec() whether a package is there; it rejects modules without a spec.
            sys.modules[parent].__spec__ = importlib.machinery.ModuleSpec(parent, None, is_package=True)
    sys.modules[name] = _offered[name] = module
    if len(parts) > 1:
        setattr(sys.modules[names[-2]], parts[-1], module)
    return True


def withdraw(*packages: str) -> None:
    """Removes the modules that were offered under these names and below them."""
    def is_below(name: str) -> bool:
        return any(name == package or name.startswith(package + ".") for package in packages)

    # Files below an offered package, such as torch_npu.contrib.transfer_to_npu, are loaded by Python itself.
    below = [name for name in sys.modules if is_below(name) and name.rpartition(".")[0] in _offered and name not in _offered]
    for name in [*below, *filter(is_below, list(_offered))]:
        if sys.modules.get(name) is _offered.pop(name, sys.modules.get(name)):
            sys.modules.pop(name, None)
