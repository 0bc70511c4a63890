# Tests the package itself: stubs that match the functions, docstrings, the doctor, and the modules that an import loads.
import ast
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import openaclnn
from conftest import jax, torch

FOLDER = pathlib.Path(openaclnn.__file__).parent
FUNCTIONS = [name for name in openaclnn.__all__ if hasattr(getattr(openaclnn, name), "__nb_signature__")]
# Functions in Python, with types of their own.
OTHERS = [name for name in openaclnn.__all__ if name[0].islower() and name not in [*FUNCTIONS, "doctor"]]


def signature_of(name):
    """Parameter names with their defaults as text, from the function itself."""
    line = getattr(openaclnn, name).__nb_signature__[0][0]
    return parameters(ast.parse(line + ": ...").body[0].args)


def parameters(arguments):
    found = [argument.arg for argument in arguments.args] + ["*"] * bool(arguments.kwonlyargs)
    found += [argument.arg for argument in arguments.kwonlyargs]
    defaults = [ast.literal_eval(value) for value in [*arguments.defaults, *arguments.kw_defaults] if value is not None]
    return found, defaults


@pytest.mark.parametrize("name", FUNCTIONS)
def test_stubs_have_the_parameters_of_the_functions(name):
    tree = ast.parse((FOLDER / "__init__.pyi").read_text())
    stub = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    assert parameters(stub.args) == signature_of(name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_name_every_parameter(name):
    documentation = getattr(openaclnn, name).__doc__
    for parameter in signature_of(name)[0]:
        assert name == "nsa_windows" or parameter == "*" or re.search(rf"\b{parameter}\b", documentation), parameter


@pytest.mark.parametrize("name", OTHERS)
def test_docstrings_of_python_functions_name_every_parameter(name):
    function = getattr(openaclnn, name)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b.* :", function.__doc__), parameter
    stub = (FOLDER / "__init__.pyi").read_text()
    assert f"import {name} as {name}\n" in stub


def test_the_stub_is_typed():
    assert (FOLDER / "py.typed").exists()


def test_doctor(capsys):
    assert openaclnn.doctor()
    text = capsys.readouterr().out
    assert re.search(r"numpy [\d.]+: works", text) and "libopenaclnn.so.1" in text


def run_module(*words, **more):
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "openaclnn", *words], capture_output=True, text=True, **more)


def test_the_module_runs_the_doctor():
    done = run_module("doctor")
    assert done.returncode == 0 and re.search(r"numpy [\d.]+: works", done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("word, expected", [
    ("161002", "161002 ACLNN_ERR_PARAM_INVALID\n  means:   dtype, rank, shape"),
    ("ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", "507035 ACL_ERROR_RT_VECTOR_CORE_EXCEPTION\n  means:   a kernel met bad data"),
    ("0", "0 ACL_SUCCESS\n  means:   the call succeeded"),
])
def test_the_module_explains_codes(word, expected, capsys):
    from openaclnn.__main__ import main

    assert main(["explain", word]) == 0
    text = capsys.readouterr().out
    assert text.startswith(expected) and "  do:      " in text, text


def test_the_module_lists_every_code(capsys):
    from openaclnn import _native
    from openaclnn.__main__ import main

    assert main(["explain"]) == 0
    text = capsys.readouterr().out
    assert all(f"{code} " in text and name in text for code, name in _native.code_names())
    first, _, meaning = _native.code_ranges()[0]
    unknown = next(code for code in range(first, first + 10000) if code not in dict(_native.code_names()))
    assert main(["explain", str(unknown)]) == 0 and meaning in capsys.readouterr().out
    assert main(["explain", "ACLNN_ERR_PARAM_INVALD"]) == 2
    assert "did you mean ACLNN_ERR_PARAM_INVALID?" in capsys.readouterr().err


def test_the_module_shows_operators(capsys):
    from openaclnn.__main__ import main

    assert main(["ops"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"^aclnnEmbedding +openaclnn.embedding$", table, re.MULTILINE), table
    assert re.search(r"^openaclnnApplyFusedEmaAdamList +openaclnn.apply_fused_ema_adam_$", table, re.MULTILINE), table
    assert "openaclnn.nsa_compress_with_cache_" in table and "openaclnn.apply_adam_w_" in table, table
    for word in ("Embedding", "aclnnEmbedding", "embedding"):
        assert main(["ops", word]) == 0
        text = capsys.readouterr().out
        assert text.startswith("# Embedding") and "Python: openaclnn.embedding" in text and "vocab_start" in text
        assert not re.search(r"^ *(```|python$|c$|sh$)", text, re.MULTILINE) and "\nimport numpy as np\n" in text
        assert "void** memory" in text  # two asterisks in code are not bold
    assert main(["ops", "Embeding"]) == 2 and "unknown operator 'Embeding'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("ops",), ("ops", "Embedding"), ("explain",), ("doctor",)], ids=" ".join)
def test_the_module_ends_quietly_if_nobody_reads(words):
    """As in `python -m openaclnn ops | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        done = subprocess.run([sys.executable, "-W", "ignore", "-m", "openaclnn", *words], stdout=pipe, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, ""), done.stderr


def test_a_closed_stdout_is_a_problem():
    done = subprocess.run(["sh", "-c", '"$0" -m openaclnn explain 507035 >&-', sys.executable], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "openaclnn: stdout could not be written: it is closed\n")


@pytest.mark.parametrize("code", ["161002", "561003"])
def test_remedies_name_commands_that_the_wheel_has(code, capsys):
    from openaclnn.__main__ import main

    assert main(["explain", code]) == 0
    text = capsys.readouterr().out
    assert "python -m openaclnn ops" in text and not re.search(r"(?<!-m )openaclnn (ops|explain)", text), text


def test_commands_of_the_program_say_where_it_is(tmp_path):
    done = run_module("bench", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and "openaclnn-tools" in done.stderr, done.stderr
    program = tmp_path / "openaclnn"
    program.write_text("#!/bin/sh\necho \"program: $*\"\n")
    program.chmod(0o755)
    done = run_module("bench", "--list", env={**os.environ, "PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert (done.returncode, done.stdout) == (0, "program: bench --list\n"), done.stderr


C_PROGRAM = """
#include <stdio.h>
#include "acl/acl.h"
#include "aclnnop/aclnn_embedding.h"

int main(void) {
  if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0) return 1;
  return printf("%s %p\\n", aclrtGetSocName(), (void*)aclnnEmbedding) < 0;
}
"""


def test_cann_compat_comes_with_the_wheel(tmp_path):
    """A C program is built and run against the folder, as if it were the CANN toolkit."""
    done = run_module("cann-compat")
    assert done.returncode == 0, done.stderr
    folder = pathlib.Path(done.stdout.strip())
    assert (folder / "set_env.sh").exists() and (folder / "include/acl/acl.h").exists()
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, so no program is built against cann-compat")
    (tmp_path / "main.c").write_text(C_PROGRAM)
    script = (f"source '{folder}/set_env.sh' && cc main.c -o main -I $ASCEND_HOME_PATH/include -I $ASCEND_HOME_PATH/include/aclnn "
              "-L $ASCEND_HOME_PATH/lib64 -lascendcl -lnnopbase -lopapi -Wl,--allow-shlib-undefined && ./main")
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip(), done.stdout + done.stderr


def test_libraries_of_cann_compat_are_the_library_of_the_package():
    """Both names lead to the same functions, and so to the same devices, streams and memory."""
    import ctypes

    from openaclnn import _native

    one, other = (ctypes.CDLL(str(path)) for path in (FOLDER / "cann-compat/lib64/libascendcl.so", _native.library_path()))
    for function in ("aclrtSetDevice", "aclnnEmbedding"):
        addresses = {ctypes.cast(getattr(library, function), ctypes.c_void_p).value for library in (one, other)}
        assert len(addresses) == 1, function


def test_search_paths_do_not_replace_the_library_of_the_package(tmp_path):
    """C programs need LD_LIBRARY_PATH for a library of their own, which may be older than the wheel."""
    if not (FOLDER / "libopenaclnn.so.1").exists():
        pytest.skip("the package was built without its library beside it")
    (tmp_path / "libopenaclnn.so.1").write_text("not a library")
    done = subprocess.run([sys.executable, "-c", "from openaclnn import _native; print(_native.library_path())"],
                          env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True)
    assert pathlib.Path(done.stdout.strip()).parent == FOLDER, done.stdout + done.stderr


def test_importing_imports_numpy_only():
    program = "import sys, openaclnn; print([m for m in ('torch', 'jax', 'ml_dtypes', 'openaclnn._judge') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("choice", ["", "auto", "cpu"])
def test_the_platform_is_the_cpu(choice):
    code = "import os, openaclnn; print(os.environ['OPENACLNN_DEVICE'])"
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "OPENACLNN_DEVICE": choice}, capture_output=True, text=True)
    assert run.stdout.strip() == "cpu" and not run.stderr, run.stderr


@pytest.mark.parametrize("choice", ["gpu", "CUDA", "cuda "])
def test_a_platform_that_does_not_exist_is_warned_of(choice):
    code = "import os, openaclnn; print(os.environ['OPENACLNN_DEVICE'])"
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "OPENACLNN_DEVICE": choice}, capture_output=True, text=True)
    assert run.stdout.strip() == "cpu"
    assert run.stderr == f"openaclnn: OPENACLNN_DEVICE is {choice!r}; accepted: auto|cpu|cuda; the package computes on the CPU\n"


def test_the_wheel_builds_no_other_part_of_the_project():
    """Other parts need packages that users of the wheel may lack, such as CLI11 for the program."""
    root = pathlib.Path(__file__).resolve().parents[2]
    parts = re.findall(r"^option\((OPENACLNN_BUILD_\w+)", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
    decided = dict(re.findall(r'^(OPENACLNN_BUILD_\w+) = "(\w+)"', (root / "pyproject.toml").read_text(), re.MULTILINE))
    assert {part: decided.get(part) for part in parts} == {part: "ON" if part.endswith(("PYTHON", "COMPAT")) else "OFF" for part in parts}


# Code as users write it. Every line of REFUSED is wrong.
ACCEPTED = '''
import array
import numpy as np
import numpy.typing as npt
import openaclnn
from openaclnn.errors import AclnnIndexError

table: npt.NDArray[np.float32] = np.zeros((4, 3), np.float32)
found = np.array([0, 1])
rows: npt.NDArray[np.float32] = openaclnn.embedding(table, found)
rows = openaclnn.embedding(table, array.array("q", [0, 1]), out=rows)
rows = openaclnn.embedding_dense_backward(rows, found, np.int64(4), out=table)
counts = openaclnn.embedding_counts(found, 4)
wide: npt.NDArray[np.float32]
narrow: npt.NDArray[np.float16]
narrow, wide, *_ = openaclnn.apply_fused_ema_adam_(table, np.zeros(2, np.float16), table, table, table, 1, grad_scale=2.0)
moment: npt.NDArray[np.float32] = openaclnn.apply_adam_w_(table, table, table, table, 0, max_v=table)[1]
blocks: npt.NDArray[np.float32] = openaclnn.nsa_compress_with_cache_(table, table, table, table, 2, 1, [3], block_table=table)
openaclnn.apply_fused_ema_adam_([table], [table], [table], [table], [table], found, lr=1)
tokens, weight = openaclnn.nsa_compress_grad(rows, rows, table, 4, 2, actual_seq_len=[4])
tokens = openaclnn.nsa_compress(rows, table, 4, 2, actual_seq_len=found)
windows: int = openaclnn.nsa_windows([4], 4, 2, 1)
try:
    openaclnn.grouped_bias_add_grad(rows, found, 1)
except AclnnIndexError as error:
    code: int = error.code
    text: str = error.name + error.message
exact: openaclnn.GoldenOutput = openaclnn.golden("embedding", weight=table, indices=found)["out"]
worst: tuple[int, ...] = openaclnn.judge("embedding", rows, weight=table, indices=found).outputs[0].worst[0].index
result: str = openaclnn.judge_pair(rows, exact, rules="bitwise").result
healthy: bool = openaclnn.doctor()
version: str = openaclnn.__version__
'''
REFUSED = '''
openaclnn.embedding("abc", found)
openaclnn.embedding(table, [0, 1])
openaclnn.embedding(table)
openaclnn.embedding(table, found, ouut=table)
openaclnn.embedding_dense_backward(rows, found, 4.5)
openaclnn.grouped_bias_add_grad(rows, None, "ends")
openaclnn.nsa_compress(rows, table, 4.5, 2)
openaclnn.apply_adam_w_(table, table, table, [1.0], 0)
openaclnn.nsa_compress_with_cache_(table, table, table, table, 2, 1, None)
openaclnn.apply_fused_ema_adam_(table, table, table, table, "average", 1)
openaclnn.apply_fused_ema_adam_(table, table, table, table, [1.0], 1)
openaclnn.embeding(table, found)
openaclnn.AclnnError("161002", "NAME", "message")
openaclnn.judge("embedding", rows, weight=table, indices=found, rules=3)
openaclnn.golden(table)
openaclnn.golden("embedding", weight=table, indices=found)["out"].exakt
'''
WITH_TORCH = '''
import torch
import openaclnn
from openaclnn.compat import acl, mindspeed, npu, torch_npu

table = torch.zeros(4, 3)
tensor: torch.Tensor = openaclnn.embedding(table, torch.zeros(2, dtype=torch.int64))
tensor, weight = torch_npu.npu_nsa_compress_grad(tensor, tensor, table, 4, 2, actual_seq_len=[4])
npu.set_device("npu:0")
milliseconds: float = npu.Event(enable_timing=True).elapsed_time(npu.Event(enable_timing=True))
optimizer = mindspeed.FusedEmaAdamW([table], lr=0.1, use_num_updates=False)
optimizer.store(optimizer.param_groups)
text: str = acl.get_recent_err_msg()
code: int = acl.init()
'''
REFUSED_WITH_TORCH = '''
torch_npu.npu_fused_infer_attention_score(table)
npu.graphs
npu.set_device(1.5)
'''
WITH_JAX = '''
import jax
import jax.numpy as jnp
import openaclnn
import openaclnn.jax as oj

table = jnp.zeros((4, 3))
rows: jax.Array = oj.embedding(table, jnp.array([0]), padding_idx=1)
rows = openaclnn.embedding(table, jnp.array([0]))
rows = oj.grouped_bias_add(table, table, jnp.array([4]))
rows = oj.nsa_compress(rows, table, 4, 2, actual_seq_len=[4])
var, m, v, s = oj.apply_fused_ema_adam(table, table, table, table, table, jnp.int32(1), lr=jnp.float32(0.1))
'''
REFUSED_WITH_JAX = '''
oj.embedding("abc", jnp.array([0]))
oj.embedding(table, [0])
oj.nsa_compress(rows, table, 4, 2, actual_seq_len=4)
oj.apply_fused_ema_adam([table], [table], [table], [table], [table], 1)
'''


@pytest.mark.parametrize("accepted, refused", [
    pytest.param(ACCEPTED, REFUSED, id="numpy"),
    pytest.param(WITH_TORCH, REFUSED_WITH_TORCH, id="torch", marks=pytest.mark.slow),
    pytest.param(WITH_JAX, REFUSED_WITH_JAX, id="jax", marks=pytest.mark.slow),
])
def test_types(accepted, refused, type_errors):
    """mypy accepts correct programs and rejects each wrong line."""
    for library, module in (("torch", torch), ("jax", jax)):
        if module is None and f"import {library}\n" in accepted:
            pytest.skip(f"{library} is not installed, so the types are not checked with it")
    found, told = type_errors({"user.py": accepted + "# wrong from here on" + refused})
    lines = len(accepted.splitlines())
    assert found == {("user.py", line) for line in range(lines + 2, lines + 1 + len(refused.splitlines()))}, told
