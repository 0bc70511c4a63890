"""Calls operators through ctypes as scripts do: several library names, functions that must exist, and a complete call."""
import ctypes
import sys

LIBRARIES = ("libascendcl.so", "libnnopbase.so", "libaclnn_ops_infer.so", "libaclnn_math.so", "libacl_op_compiler.so")
NEEDED = ("aclnnInit", "aclCreateScalar", "aclDestroyScalar", "aclCreateBoolArray", "aclDestroyBoolArray", "aclCreateIntArray",
          "aclnnAdd", "aclnnMul", "aclnnReduceSum", "aclnnRelu", "aclnnAddGetWorkspaceSize", "aclnnReluGetWorkspaceSize")

libraries = [ctypes.CDLL(name) for name in LIBRARIES]
for library in libraries:
    for name in NEEDED:
        getattr(library, name)  # AttributeError if it is missing

runtime, base, operators, *_ = libraries
base.aclCreateTensor.restype = ctypes.c_void_p
runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p


def tensor(dims, dtype, memory):
    shape = (ctypes.c_int64 * len(dims))(*dims)
    return ctypes.c_void_p(base.aclCreateTensor(shape, ctypes.c_uint64(len(dims)), dtype, None, ctypes.c_int64(0), 2, shape,
                                                ctypes.c_uint64(len(dims)), memory))


assert runtime.aclrtSetDevice(0) == 0 and base.aclnnInit(None) == 0
grad = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
ends = (ctypes.c_int64 * 2)(1, 3)
out = (ctypes.c_float * 4)()
arguments = [tensor((3, 2), 0, grad), tensor((2,), 9, ends), tensor((2, 2), 0, out)]
size, executor = ctypes.c_uint64(), ctypes.c_void_p()
assert operators.aclnnGroupedBiasAddGradGetWorkspaceSize(*arguments, ctypes.byref(size), ctypes.byref(executor)) == 0
workspace = ctypes.create_string_buffer(size.value + 1)
assert operators.aclnnGroupedBiasAddGrad(workspace, size, executor, None) == 0
assert runtime.aclrtSynchronizeStream(None) == 0
assert list(out) == [1, 2, 8, 10], list(out)
assert operators.aclnnReluGetWorkspaceSize(None, None, None, None) == 561003
sentence = runtime.aclGetRecentErrMsg().decode()
assert sentence.startswith("aclnnReluGetWorkspaceSize: openaclnn does not have this operator"), sentence
assert libraries[-1].aclopCompileAndExecute(None) == 561003
sentence = runtime.aclGetRecentErrMsg().decode()
assert sentence.startswith("aclopCompileAndExecute: openaclnn does not have this function"), sentence
print("called through ctypes from Python", sys.version.split()[0])
