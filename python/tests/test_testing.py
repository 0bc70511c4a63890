# Tests openaclnn.testing and the pytest plugin.
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import openaclnn
from conftest import needs_newer_torch, needs_torch, torch
from openaclnn.testing import GoldenMismatch, assert_close_to_golden as assert_close, judge_autograd

ROWS, ENDS = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 4])


def right():
    return openaclnn.grouped_bias_add_grad(ROWS, ENDS)


def test_correct_results_give_their_report():
    report = assert_close("grouped_bias_add_grad", right(), grad_y=ROWS, group_idx=ENDS)
    assert report.result == "pass"


def test_wrong_results_raise_the_text_of_the_report():
    wrong = right()
    wrong[1, 2] += 1
    with pytest.raises(AssertionError, match=re.escape("[1, 2]")) as caught:
        assert_close("grouped_bias_add_grad", wrong, grad_y=ROWS, group_idx=ENDS)
    assert isinstance(caught.value, GoldenMismatch) and caught.value.report.result == "error"
    assert str(caught.value.report) in str(caught.value)


def test_results_that_no_rule_judges_raise():
    with pytest.raises(GoldenMismatch, match="no rule judges these results"):
        assert_close("grouped_bias_add_grad", right(), rules="benchmark", grad_y=ROWS, group_idx=ENDS)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_every_function(dtype):
    import openaclnn.torch as ot

    dtype = getattr(torch, dtype)
    table, indices = torch.randn(9, 4, dtype=dtype), torch.randint(0, 9, (3, 5))
    report = judge_autograd("embedding", lambda w, i: ot.embedding(w, i, 2, True), (table, indices), padding_idx=2,
                            scale_grad_by_freq=True)
    assert report.result == "pass" and [call.label for call in report.calls] == ["embedding forward", "embedding backward"], report
    tokens, weight = torch.randn(24, 2, 16, dtype=dtype), torch.randn(8, 2, dtype=dtype)
    report = judge_autograd("nsa_compress", lambda x, w: ot.nsa_compress(x, w, 8, 4, actual_seq_len=[10, 24]), (tokens, weight),
                            compress_block_size=8, compress_stride=4, actual_seq_len=[10, 24])
    assert report.result == "pass" and [output.name for output in report.outputs] == ["out", "input_grad", "weight_grad"], report
    x, bias = torch.randn(10, 3, dtype=dtype), torch.randn(3, 3, dtype=dtype)
    for kind, entries in enumerate(([2, 2, 7], [2, 0, 5])):
        report = judge_autograd("grouped_bias_add", lambda *inputs: ot.grouped_bias_add(*inputs, kind), (x, bias, torch.tensor(entries)),
                                group_idx_type=kind)
        assert report.result == "pass" and [output.name for output in report.outputs] == ["out", "x_grad", "out"], report


@needs_newer_torch(2, 0)
def test_wrong_gradients_are_found():
    """PyTorch's own table lookup passes. A gradient that counts a padding row doesn't, and the cause is named."""
    table, indices = torch.randn(7, 3), torch.tensor([1, 2, 2, 5])
    report = judge_autograd("embedding", lambda w, i: torch.nn.functional.embedding(i, w, padding_idx=2), (table, indices), padding_idx=2)
    assert report.result == "pass", report
    report = judge_autograd("embedding", lambda w, i: torch.nn.functional.embedding(i, w), (table, indices), padding_idx=2)
    assert [call.result for call in report.calls] == ["pass", "error"]
    assert report.outputs[1].wrong == 3 and all(worst.index[0] == 2 for worst in report.outputs[1].worst)
    assert "padding" in report.causes[0].name


@needs_torch
@pytest.mark.parametrize("given", [{}, dict(actual_seq_len=None), dict(actual_seq_len=[])])
def test_without_lengths_the_tokens_are_one_sequence(given):
    """A kernel that starts again in the middle, and one that loses the last window, are wrong."""
    import openaclnn.torch as ot

    inputs, options = (torch.randn(64, 2, 16), torch.randn(8, 2)), dict(compress_block_size=8, compress_stride=4, **given)
    assert judge_autograd("nsa_compress", lambda x, w: ot.nsa_compress(x, w, 8, 4), inputs, **options).result == "pass"
    for function in (lambda x, w: ot.nsa_compress(x, w, 8, 4, actual_seq_len=[32, 64]), lambda x, w: ot.nsa_compress(x, w, 8, 4)[:-1]):
        with pytest.raises(ValueError, match="out has 14 windows; the sequences have 15"):
            judge_autograd("nsa_compress", function, inputs, **options)


@needs_torch
def test_wrong_values_are_found():
    x, bias, ends = torch.randn(6, 4), torch.randn(2, 4), torch.tensor([2, 6])
    rows = torch.repeat_interleave(torch.tensor([0, 1]), torch.tensor([2, 4]))
    report = judge_autograd("grouped_bias_add", lambda x, b, _: x + b[rows], (x, bias, ends))
    assert report.result == "pass", report
    report = judge_autograd("grouped_bias_add", lambda x, b, _: x + b[rows.flip(0)], (x, bias, ends))
    assert [call.result for call in report.calls] == ["error", "pass", "error"]
    report = judge_autograd("grouped_bias_add", lambda x, b, _: x + b[rows], (x, bias, ends), grad_output=torch.ones(6, 4))
    assert report.result == "pass", report


@needs_torch
@pytest.mark.parametrize("operator, function, inputs, arguments, kind, text", [
    ("attention", None, (), {}, ValueError, "operator is 'attention'; accepted are embedding, grouped_bias_add, nsa_compress"),
    ("embedding", None, (1,), {}, ValueError, "embedding has the inputs weight, indices; 1 were given"),
    ("embedding", None, (1, 2), {}, TypeError, "weight is of type int; a tensor is needed"),
    ("embedding", None, (1, 2), {"padding": 1}, TypeError, "embedding has no argument 'padding'; its arguments are padding_idx"),
    ("embedding", lambda w, i: (w, i), None, {}, TypeError, "the function returned tuple; one tensor is needed"),
    ("embedding", lambda w, i: w.detach()[i], None, {}, ValueError, "the output of the function has no gradient"),
])
def test_errors_name_the_argument(operator, function, inputs, arguments, kind, text):
    given = (torch.randn(3, 2), torch.tensor([1])) if inputs is None else inputs
    with pytest.raises(kind, match=re.escape(text)):
        judge_autograd(operator, function, given, **arguments)


@needs_torch
def test_other_dtypes_are_refused():
    for operator, inputs in (("embedding", (torch.randn(9, 4).double(), torch.tensor([1]))),
                             ("grouped_bias_add", (torch.randn(4, 3), torch.randn(1, 3).double(), torch.tensor([4]))),
                             ("nsa_compress", (torch.randn(4, 2, 3), torch.randn(4, 2).to(torch.complex64)))):
        with pytest.raises(TypeError, match=r"(weight|bias) is torch\.(float|complex)64; numbers must be float32, float16 or bfloat16"):
            judge_autograd(operator, None, inputs)


def test_the_wheel_registers_the_plugin():
    names = {entry.value for entry in importlib.metadata.entry_points(group="pytest11")}
    if "site-packages" not in str(pathlib.Path(openaclnn.__file__)) and "openaclnn_pytest" not in names:
        pytest.skip("the package isn't installed, so pytest doesn't know its plugin")
    assert "openaclnn_pytest" in names


TESTS = '''
import numpy as np
import openaclnn

rows, ends = np.ones((4, 3), np.float32), np.array([1, 4])

def test_right(assert_close_to_golden):
    assert_close_to_golden("grouped_bias_add_grad", openaclnn.grouped_bias_add_grad(rows, ends), grad_y=rows, group_idx=ends)

def test_wrong(assert_close_to_golden):
    assert_close_to_golden("grouped_bias_add_grad", np.ones((2, 3), np.float32), grad_y=rows, group_idx=ends)
'''


def test_the_plugin_saves_reports_of_failures(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    is_known = any(entry.value == "openaclnn_pytest" for entry in importlib.metadata.entry_points(group="pytest11"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *([] if is_known else ["-p", "openaclnn_pytest"])]
    done = subprocess.run([*words, "--golden-report", "reports"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "the results are not those of the golden" in done.stdout and "report: reports/" in done.stdout, done.stdout
    saved = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert saved == ["test_mine.py_test_wrong.json", "test_mine.py_test_wrong.svg"]
    data = json.loads((tmp_path / "reports" / saved[0]).read_text())
    assert data["result"] == "error" and data["calls"][0]["outputs"][0]["wrong"] == 3
    done = subprocess.run([*words, "-k", "right"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and len(list(tmp_path.iterdir())) <= 4, done.stdout


def test_the_plugin_loads_no_library():
    program = "import sys, openaclnn_pytest; print('openaclnn' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stdout + done.stderr
