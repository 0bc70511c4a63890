# Tests for leaks: memory over many calls, successful or failing, references, and objects of nanobind at exit.
import subprocess
import sys

import pytest

CALLS = """
import gc, sys
import numpy as np
import openaclnn

table, indices, wrong = np.ones((64, 64), np.float32), np.arange(64), np.array([99])
states = [np.ones(256, np.float32) for _ in range(5)]
tokens, weight = np.ones((64, 2, 8), np.float32), np.ones((8, 2), np.float32)
slots = np.zeros(1, np.int32)

def calls(count):
    for _ in range(count):
        openaclnn.embedding(table, indices)
        openaclnn.embedding(table, indices, vocab_start=0, vocab_end=64)
        openaclnn.embedding_dense_backward(table, indices, 64)
        openaclnn.grouped_bias_add_grad(table, np.array([32, 64]))
        openaclnn.apply_fused_ema_adam_(*states, 1)
        openaclnn.apply_fused_ema_adam_(*[[state] for state in states], 1, grad_scale=2.0)
        openaclnn.apply_adam_w_(*states[:4], 0, max_v=states[4])
        out = openaclnn.nsa_compress(tokens, weight, 8, 4)
        openaclnn.nsa_compress_with_cache_(tokens, weight, slots, out, 8, 4, [12], block_table=None)
        openaclnn.nsa_compress_grad(out, tokens, weight, 8, 4, actual_seq_len=[64])
        for failing in (lambda: openaclnn.embedding(table, wrong), lambda: openaclnn.embedding([1], indices),
                        lambda: openaclnn.grouped_bias_add_grad(table, wrong),
                        lambda: openaclnn.apply_fused_ema_adam_(*states[:4], table, 1)):
            try:
                failing()
                raise SystemExit("a failing call succeeded")
            except (openaclnn.AclnnError, TypeError):
                pass

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096

calls(300)
gc.collect()
before, references = resident(), [sys.getrefcount(array) for array in (table, indices, *states, tokens)]
calls(3000)
gc.collect()
assert references == [sys.getrefcount(array) for array in (table, indices, *states, tokens)], "references are leaked"
assert resident() - before < 2 << 20, f"{resident() - before} bytes are leaked in 36,000 calls"
print("clean")
"""


@pytest.mark.slow
def test_no_leaks():
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "clean\n" and done.stderr == "", done.stdout + done.stderr


FORK = """
import os
import numpy as np
import openaclnn
table = np.ones((512, 512), np.float32)
openaclnn.grouped_bias_add_grad(table, np.array([512]))
child = os.fork()
if child == 0:
    right = (openaclnn.grouped_bias_add_grad(table, np.array([512])) == 512).all()
    os._exit(0 if right else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_forked_child_computes():
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=60).returncode == 0
