# Tests that a script written for pyACL runs with one additional import, in a process of its own.
import subprocess
import sys

SCRIPT = """
import openaclnn.compat.acl
# from here on the script as it was
import acl
import numpy as np

assert acl.init() == 0 and acl.rt.set_device(0) == 0
count, ret = acl.rt.get_device_count()
assert ret == 0 and count >= 1
context, ret = acl.rt.create_context(0)
assert ret == 0 and context != 0
stream, ret = acl.rt.create_stream()
assert ret == 0
data = np.arange(8, dtype=np.float32)
device, ret = acl.rt.malloc(data.nbytes, 0)
assert ret == 0
assert acl.rt.memcpy(device, data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes, 1) == 0
assert acl.rt.memset_async(device, data.nbytes, 0, 4, stream) == 0 and acl.rt.synchronize_stream(stream) == 0
assert np.frombuffer(acl.util.ptr_to_bytes(device, data.nbytes), np.float32).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
# Columns 1 and 2 of two rows, and the same with gaps between the rows
pair = np.zeros(4, np.float32)
assert acl.rt.memcpy2d(acl.util.numpy_to_ptr(pair), 8, device + 4, 16, 8, 2, 2) == 0 and pair.tolist() == [1, 2, 5, 6]
assert acl.rt.memcpy2d_async(device, 16, acl.util.numpy_to_ptr(pair), 8, 8, 2, 1, stream) == 0 and acl.rt.synchronize_stream(stream) == 0
assert np.frombuffer(acl.util.ptr_to_bytes(device, data.nbytes), np.float32).tolist() == [1, 2, 2, 3, 5, 6, 6, 7]
assert acl.rt.memcpy2d(device, 16, device, 8, 8, 2, 3) == 207000 and "kind is 3" in acl.get_recent_err_msg()
acl.app_log(3, "100 % done")
acl.app_log(1, "too detailed")
start, ret = acl.rt.create_event()
end, ret = acl.rt.create_event()
assert acl.rt.record_event(start, stream) == 0 and acl.rt.record_event(end, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
milliseconds, ret = acl.rt.event_elapsed_time(start, end)
assert ret == 0 and milliseconds >= 0 and acl.rt.query_event(end) == (0, 0)
free, total, ret = acl.rt.get_mem_info(1)
assert ret == 0 and 0 < free <= total
assert acl.rt.free(device) == 0 and acl.rt.free(device) == 107000
assert "aclrtFree" in acl.get_recent_err_msg() and acl.get_recent_err_msg() == ""
for module, name in (acl, "mdl"), (acl.rt, "launch_callback"):
    assert not hasattr(module, name)
    try:
        getattr(module, name)
    except AttributeError as error:
        assert f"{module.__name__.replace('openaclnn.compat.', '')}.{name} isn't supported" in str(error), error
assert acl.rt.get_version() == (1, 17, 0, 0) and acl.get_soc_name()
for destroy, handle in ((acl.rt.destroy_event, start), (acl.rt.destroy_event, end), (acl.rt.destroy_stream, stream),
                        (acl.rt.destroy_context, context)):
    assert destroy(handle) == 0
assert acl.rt.destroy_stream(stream) == 107017
for wrong in (lambda: acl.rt.free(), lambda: acl.rt.free(device, 1), lambda: acl.rt.malloc(8), lambda: acl.rt.create_stream(0)):
    try:
        wrong()
    except TypeError as error:
        assert "aclrt" in str(error) and "argument" in str(error), error
    else:
        raise SystemExit("a wrong number of arguments was accepted")
for wrong in (lambda: acl.rt.malloc(-1, 0), lambda: acl.rt.malloc(2**64 + 8, 0), lambda: acl.rt.malloc(8, 2**32), lambda: acl.rt.free(2**64)):
    try:
        wrong()
    except OverflowError as error:
        assert "aclrt" in str(error) and "it must fit c_" in str(error), error
    else:
        raise SystemExit("a number was cut to 64 bits or fewer")
assert acl.rt.reset_device(0) == 0 and acl.finalize() == 0
# the arrays' own functions work on after a finalize
import openaclnn
table = np.ones((2, 2), np.float32)
assert (openaclnn.embedding(table, np.array([1])) == 1).all()
assert acl.init() == 0 and acl.finalize() == 0
assert (openaclnn.embedding(table, np.array([1])) == 1).all()
"""


def test_script_for_pyacl():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    # The log of the script, at the library's default level
    assert done.stderr.endswith("<module>: 100 % done\n") and "too detailed" not in done.stderr, done.stderr
