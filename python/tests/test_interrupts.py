# Ctrl-C ends a long call at once. Its work goes on, what it uses is kept, and the next call waits for it.
import subprocess
import sys

import pytest

# The gradient is one row that is read many times: a long call needs little memory. Each run finds how long is long on its machine.
START = """if True:
    import os, signal, sys, threading, time, weakref
    import numpy as np
    import openaclnn

    class Array(np.ndarray):  # has weak references
        pass

    def arguments():
        grad = np.broadcast_to(np.ones((1, 4096), np.float32), (rows, 4096)).view(Array)
        return grad, np.arange(rows, dtype=np.int64) % 8, np.zeros((8, 4096), np.float32)

    def call(grad, index, out):
        start = time.perf_counter()
        openaclnn.embedding_dense_backward(grad, index, 8, out=out)
        return time.perf_counter() - start

    def signal_after(seconds):
        def send():
            time.sleep(seconds)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=send).start()

    rows, sent = 50000, []
    while True:
        seconds = call(*arguments())
        if seconds > 1:
            break
        rows *= 2
    grad, index, out = arguments()
    weak = weakref.ref(grad)
"""

INTERRUPTED = START + """
    signal_after(seconds / 4)
    try:
        call(grad, index, out)
        print("not interrupted")
    except KeyboardInterrupt:
        latency = time.perf_counter() - sent[0]
        print("early" if latency < 0.5 else f"late: {latency} of {seconds} s")  # handlers run every 0.1 s
    del grad
    print("kept" if weak() is not None else "lost")
    openaclnn.embedding(np.ones((2, 2), np.float32), np.zeros(1, np.int64))
    print("released" if weak() is None else "leaked")
    print("complete" if (out == rows // 8).all() else "incomplete")
"""

ENDED = START + """
    signal_after(seconds / 4)
    call(grad, index, out)
"""

TWICE = START + """
    for _ in range(2):  # the second call is interrupted while it waits for the work of the first
        signal_after(seconds / 8)
        try:
            call(grad, index, out)
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
    call(grad, index, out)
    print("complete" if (out == rows // 8).all() else "incomplete")
"""

HANDLED = START + """
    signal.signal(signal.SIGINT, lambda *_: print("handled after", time.perf_counter() - begin < seconds / 2))
    signal_after(seconds / 4)
    begin = time.perf_counter()
    call(grad, index, out)
    print("complete" if (out == rows // 8).all() else "incomplete")
"""


# Arrays of less than 32 MiB with many terms: windows that are half as long as the sequence.
COMPRESSION = """if True:
    import os, signal, threading, time
    import numpy as np
    import openaclnn

    tokens, width, sent = {start}, []
    while True:
        block = tokens // 2
        input, weight = np.ones((tokens, 1, width), np.float32), np.ones((block, 1), np.float32)
        out = np.zeros((tokens - block + 1, 1, width), np.float32)
        assert input.nbytes + weight.nbytes + out.nbytes < 32 << 20
        start = time.perf_counter()
        openaclnn.nsa_compress(input, weight, block, 1, out=out)
        seconds = time.perf_counter() - start
        if seconds > 1:
            break
        tokens, width = 2 * tokens, max(width // 2, 1)

    def send():
        time.sleep(seconds / 8)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    try:
        openaclnn.nsa_compress(input, weight, block, 1, out=out)
        print("not interrupted")
    except KeyboardInterrupt:
        latency = time.perf_counter() - sent[0]
        print("early" if latency < 0.5 else f"late: {{latency}} of {{seconds}} s")
"""


# Shells start background jobs with Ctrl-C ignored, and Python then has no handler of its own.
LISTENING = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def run(program):
    return subprocess.run([sys.executable, "-c", LISTENING + program], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("program, printed", [
    (INTERRUPTED, "early kept released complete"), (TWICE, "interrupted interrupted complete"),
    (HANDLED, "handled after True complete"), (COMPRESSION.format(start="14000, 256"), "early"),
    (COMPRESSION.format(start="5000, 1"), "early")], ids=["interrupted", "twice", "handled", "compression", "narrow compression"])
def test_a_signal_during_a_long_call(program, printed):
    done = run(program)
    assert done.returncode == 0 and done.stdout.split() == printed.split(), done.stdout + done.stderr


@pytest.mark.slow
def test_a_program_ends_during_interrupted_work():
    done = run(ENDED)
    assert done.returncode in (-2, 130) and "KeyboardInterrupt" in done.stderr, (done.returncode, done.stdout + done.stderr)
