# A small pyACL: runtime functions of the C interface under pyACL's names, through ctypes on the library of this package.
"""After import openaclnn.compat.acl, `import acl` finds it. Functions return a code, or their results followed by the code.
Handles and addresses are ints; 0 is NULL. Codes: docs/errors.md."""
import ctypes
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openaclnn import _native, compat

_library = ctypes.CDLL(_native.library_path())
_library.aclrtGetSocName.restype = ctypes.c_char_p
_library.aclGetRecentErrMsg.restype = ctypes.c_char_p
_library.aclAppLog.restype = None

ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE = range(4)
ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY = range(3)

_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32


def _converted(name: str, types_of_arguments: tuple[Any, ...], arguments: tuple[Any, ...]) -> list[Any]:
    """Converts the arguments for C. ctypes itself reports neither missing arguments nor numbers that it cuts to 64 bits."""
    if len(arguments) != len(types_of_arguments):
        kinds = ", ".join(kind.__name__ for kind in types_of_arguments)
        raise TypeError(f"{name} takes {len(types_of_arguments)} arguments ({kinds}); {len(arguments)} were given")
    made = [kind(value) for kind, value in zip(types_of_arguments, arguments)]
    for position, (value, passed) in enumerate(zip(arguments, made), 1):
        if isinstance(value, int) and (passed.value or 0) != value:
            raise OverflowError(f"{name}: argument {position} is {value}; it must fit {type(passed).__name__}")
    return made


def _code(name: str, *types_of_arguments: Any) -> Callable[..., int]:
    """Makes a function that returns its code."""
    function = getattr(_library, name)

    def call(*arguments: Any) -> int:
        return function(*_converted(name, types_of_arguments, arguments))

    call.__doc__ = f"{name}({', '.join(kind.__name__ for kind in types_of_arguments)}) -> code"
    call.__name__ = name
    return call


def _gives(name: str, results: list[Any], *types_of_arguments: Any, last: bool = False) -> Callable[..., tuple[Any, ...]]:
    """Makes a function that returns values of these ctypes, and then its code. If C has the results after the arguments:
    last."""
    function = getattr(_library, name)

    def call(*arguments: Any) -> tuple[Any, ...]:
        made = [kind() for kind in results]
        passed = _converted(name, types_of_arguments, arguments)
        addresses = [ctypes.byref(value) for value in made]
        code = function(*(passed + addresses if last else addresses + passed))
        return (*((value.value or 0) for value in made), code)

    call.__doc__ = f"{name} -> {', '.join(kind.__name__ for kind in results)}, code"
    call.__name__ = name
    return call


def init(config_path: Any = None) -> int:
    """aclInit; None or the path of a JSON file. -> code"""
    return _library.aclInit(None if config_path is None else str(config_path).encode())


def get_soc_name() -> str:
    """Returns the name of the device."""
    return _library.aclrtGetSocName().decode()


def get_recent_err_msg() -> str:
    """Returns and clears this thread's error messages, newest first; empty if there are none."""
    return (_library.aclGetRecentErrMsg() or b"").decode()


def app_log(log_level: int, message: str) -> None:
    """aclAppLog: writes a line of the program's log to stderr; 0 is debug, 1 info, 2 warning, 3 error."""
    caller = sys._getframe(1)
    place = (caller.f_code.co_name.encode(), caller.f_code.co_filename.encode("utf-8", "replace"), caller.f_lineno)
    _library.aclAppLog(int(log_level), *place, b"%s", str(message).encode("utf-8", "replace"))


finalize = _code("aclFinalize")

rt = types.ModuleType("acl.rt", "Devices, contexts, streams, events and memory.")
rt.set_device = _code("aclrtSetDevice", _INT)
rt.reset_device = _code("aclrtResetDevice", _INT)
rt.get_device = _gives("aclrtGetDevice", [_INT])
rt.get_device_count = _gives("aclrtGetDeviceCount", [ctypes.c_uint32])
rt.get_run_mode = _gives("aclrtGetRunMode", [ctypes.c_int])
rt.get_version = _gives("aclrtGetVersion", [_INT, _INT, _INT])
rt.synchronize_device = _code("aclrtSynchronizeDevice")
rt.create_context = _gives("aclrtCreateContext", [_POINTER], _INT)
rt.destroy_context = _code("aclrtDestroyContext", _POINTER)
rt.set_context = _code("aclrtSetCurrentContext", _POINTER)
rt.get_context = _gives("aclrtGetCurrentContext", [_POINTER])
rt.create_stream = _gives("aclrtCreateStream", [_POINTER])
rt.destroy_stream = _code("aclrtDestroyStream", _POINTER)
rt.synchronize_stream = _code("aclrtSynchronizeStream", _POINTER)
rt.stream_wait_event = _code("aclrtStreamWaitEvent", _POINTER, _POINTER)
rt.create_event = _gives("aclrtCreateEvent", [_POINTER])
rt.destroy_event = _code("aclrtDestroyEvent", _POINTER)
rt.record_event = _code("aclrtRecordEvent", _POINTER, _POINTER)
rt.reset_event = _code("aclrtResetEvent", _POINTER, _POINTER)
rt.query_event = _gives("aclrtQueryEvent", [ctypes.c_int], _POINTER, last=True)
rt.synchronize_event = _code("aclrtSynchronizeEvent", _POINTER)
rt.event_elapsed_time = _gives("aclrtEventElapsedTime", [ctypes.c_float], _POINTER, _POINTER)
rt.malloc = _gives("aclrtMalloc", [_POINTER], _SIZE, ctypes.c_int)
rt.malloc_cached = _gives("aclrtMallocCached", [_POINTER], _SIZE, ctypes.c_int)
rt.free = _code("aclrtFree", _POINTER)
rt.malloc_host = _gives("aclrtMallocHost", [_POINTER], _SIZE)
rt.free_host = _code("aclrtFreeHost", _POINTER)
rt.memcpy = _code("aclrtMemcpy", _POINTER, _SIZE, _POINTER, _SIZE, ctypes.c_int)
rt.memcpy_async = _code("aclrtMemcpyAsync", _POINTER, _SIZE, _POINTER, _SIZE, ctypes.c_int, _POINTER)
rt.memcpy2d = _code("aclrtMemcpy2d", _POINTER, _SIZE, _POINTER, _SIZE, _SIZE, _SIZE, ctypes.c_int)
rt.memcpy2d_async = _code("aclrtMemcpy2dAsync", _POINTER, _SIZE, _POINTER, _SIZE, _SIZE, _SIZE, ctypes.c_int, _POINTER)
rt.memset = _code("aclrtMemset", _POINTER, _SIZE, _INT, _SIZE)
rt.memset_async = _code("aclrtMemsetAsync", _POINTER, _SIZE, _INT, _SIZE, _POINTER)
rt.get_mem_info = _gives("aclrtGetMemInfo", [_SIZE, _SIZE], ctypes.c_int, last=True)

util = types.ModuleType("acl.util", "Addresses of Python's own data.")
util.bytes_to_ptr = lambda data: ctypes.cast(ctypes.c_char_p(data), _POINTER).value
util.ptr_to_bytes = lambda address, size: ctypes.string_at(address, size)
util.numpy_to_ptr = lambda array: array.ctypes.data


def _reports_missing(module: str) -> Callable[[str], Any]:
    """Makes a module's __getattr__, which names the page of what this module has."""
    def get(name: str) -> Any:
        raise AttributeError(f"{module}.{name} isn't supported. openaclnn.compat.acl stands in for pyACL and has the functions "
                             "that docs/from_torch_npu.md#pyacl describes", name=name)
    return get


if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__ = _reports_missing("acl")
    rt.__getattr__ = _reports_missing("acl.rt")
    util.__getattr__ = _reports_missing("acl.util")


def _install() -> None:
    this = sys.modules[__name__]
    this.__path__ = []
    if compat.offer("acl", this):
        compat.offer("acl.rt", rt)
        compat.offer("acl.util", util)


_install()
