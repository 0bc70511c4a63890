# Names that other packages use for these operators: torch_npu, MindSpeed and pyACL. Each is a module that is imported on
# demand.
"""Importing openaclnn.compat.torch_npu, .mindspeed or .acl also makes `import torch_npu`, `import mindspeed…` or `import
acl` find these modules, unless the real ones are installed or already loaded. To run a script written for them, add one
import before its own."""
import importlib.abc
import importlib.util
import sys
import types

_offered: dict[str, types.ModuleType] = {}  # modules that this package put into sys.modules


class _Absent(importlib.abc.MetaPathFinder):
    """The last finder. For missing parts of the offered packages it raises an error that says why they are missing."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        package = next((offered for offered in _offered if name.startswith(offered + ".")), None)
        if package is not None:
            raise ModuleNotFoundError(f"No module named {name!r}: openaclnn.compat stands in for {package} and has the parts "
                                      "that docs/from_torch_npu.md lists", name=name)


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
    sys.modules[name] = _offered[name] = module
    if len(parts) > 1:
        setattr(sys.modules[names[-2]], parts[-1], module)
    return True


def withdraw(*packages: str) -> None:
    """Removes the modules that were offered under these names and below them."""
    for name in [name for name in _offered if any(name == package or name.startswith(package + ".") for package in packages)]:
        if sys.modules.get(name) is _offered.pop(name):
            del sys.modules[name]
