# Runs a test suite written for torch_npu and MindSpeed, suite_for_ascend.py, in a process of its own.
import pathlib
import re
import subprocess
import sys

from conftest import needs_newer_torch

PROGRAM = pathlib.Path(__file__).with_name("suite_for_ascend.py")


@needs_newer_torch(2, 0)
def test_a_suite_for_an_npu_runs():
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    written = len(re.findall(r"^    def test_", PROGRAM.read_text(), re.MULTILINE))
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    assert ran and int(ran[1]) == written and "OK (skipped=1)" in done.stderr, done.stderr
