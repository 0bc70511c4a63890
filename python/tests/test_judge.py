# Tests openaclnn.judge and judge_pair: verdicts, located errors, causes, reports and errors. The rules have tests of their own in tests/judge.
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import openaclnn
from conftest import needs_torch, torch


def random(*shape, dtype="float32"):
    return np.random.standard_normal(shape).astype(dtype)


@pytest.fixture
def sums():
    """The arguments of a sum of groups, and its correct result."""
    arguments = {"grad_y": random(90, 8), "group_idx": np.array([10, 90])}
    return arguments, openaclnn.grouped_bias_add_grad(**arguments)


def compression():
    arguments = {"input": random(40, 2, 16), "weight": random(8, 2), "compress_block_size": 8, "compress_stride": 4,
                 "actual_seq_len": [40]}
    return arguments, random(9, 2, 16)


def moved(array, index, ulps):
    """Returns a copy with one element moved by some ulps."""
    copy = array.copy()
    copy[index] += ulps * np.spacing(np.abs(copy[index]))
    return copy


def test_correct_results_pass(sums):
    arguments, out = sums
    report = openaclnn.judge("grouped_bias_add_grad", out, **arguments)
    assert report.result == "pass" and report.outputs[0].wrong == 0 and report.causes == ()
    assert [call.operator for call in report.calls] == ["GroupedBiasAddGradV2"]
    assert report.outputs[0].name == "out" and report.outputs[0].shape == (2, 8) and report.outputs[0].dtype == "FLOAT"


def test_an_error_of_two_ulps_is_located():
    table, indices = random(9, 300), np.random.randint(0, 9, 40)
    out = moved(openaclnn.embedding(table, indices), (17, 123), 2)
    report = openaclnn.judge("embedding", out, weight=table, indices=indices)
    worst = report.outputs[0].worst[0]
    assert report.result == "error" and report.outputs[0].wrong == 1
    assert worst.index == (17, 123) and worst.ulps == 2 and worst.exact == table[indices[17], 123] and worst.device == out[17, 123]
    assert "[17, 123]" in str(report) and "1 call: 1 error" in str(report)


def test_the_inputs_of_a_wrong_element_are_named():
    arguments, _ = compression()
    arguments["weight"], arguments["compress_block_size"], arguments["compress_stride"] = np.ones((1, 2), np.float32), 1, 1
    arguments["input"][17, 1, 5] = 3
    out = moved(openaclnn.nsa_compress(**arguments), (17, 1, 5), 100)
    worst = openaclnn.judge("nsa_compress", out, **arguments).outputs[0].worst
    assert len(worst) == 1 and worst[0].index == (17, 1, 5)
    assert any(re.match(r"input\[17, 1, 5\] = 3", source) for source in worst[0].sources), worst[0].sources


def test_results_are_a_tuple_or_named():
    arguments, grad = compression()
    token_grad, weight_grad = openaclnn.nsa_compress_grad(grad, **arguments)
    arguments["grad"] = grad
    report = openaclnn.judge("nsa_compress_grad", (token_grad, weight_grad), **arguments)
    assert [output.name for output in report.outputs] == ["input_grad", "weight_grad"] and report.result == "pass"
    report = openaclnn.judge("nsa_compress_grad", {"weight_grad": weight_grad}, **arguments)
    assert [output.name for output in report.outputs] == ["weight_grad"]
    report = openaclnn.judge("nsa_compress_grad", (token_grad, None), **arguments)
    assert [output.name for output in report.outputs] == ["input_grad"]
    report = openaclnn.judge("nsa_compress_grad", {"weightGradOut": -weight_grad}, **arguments)
    assert report.result == "error"


def optimizer_state(dtype="float32"):
    state = {name: random(500, dtype=dtype) for name in ("grad", "var", "m", "s")}
    return {**state, "v": np.abs(random(500, dtype=dtype)), "step": 3, "lr": 0.25, "weight_decay": 0.125}


def test_updated_tensors_are_results():
    before = optimizer_state()
    after = {name: before[name].copy() for name in ("var", "m", "v", "s")}
    openaclnn.apply_fused_ema_adam_(**{**before, **after})
    report = openaclnn.judge("apply_fused_ema_adam_", tuple(after.values()), **before)
    assert report.result == "pass" and len(report.outputs) == 4
    lists = {name: [value] if name in ("grad", "var", "m", "v", "s") else value for name, value in before.items()}
    report = openaclnn.judge("apply_fused_ema_adam_", {name: [value] for name, value in after.items()}, **lists)
    assert report.result == "pass" and [output.name for output in report.outputs] == ["var[0]", "m[0]", "v[0]", "s[0]"]


@pytest.mark.parametrize("given", [{}, dict(actual_seq_len=None), dict(actSeqLenOptional=[])])
def test_without_lengths_a_compression_is_of_one_sequence(given):
    """The number of windows can't say how many sequences there are: it is a part of what is judged."""
    random = np.random.default_rng(3)
    tokens, weight = random.standard_normal((64, 2, 16), np.float32), random.standard_normal((8, 2), np.float32)
    given = dict(given, input=tokens, weight=weight, compress_block_size=8, compress_stride=4)
    right = openaclnn.nsa_compress(tokens, weight, 8, 4)
    halves = openaclnn.nsa_compress(tokens, weight, 8, 4, actual_seq_len=[32, 64])
    assert openaclnn.judge("nsa_compress", right, **given).result == "pass"
    for wrong in (halves, right[:-1], {"out": halves}):
        with pytest.raises(ValueError, match="out has 14 windows; the sequences have 15"):
            openaclnn.judge("nsa_compress", wrong, **given)
    assert openaclnn.judge("aclnnNsaCompress", halves, **given).result == "pass"


def test_a_missing_bias_correction_is_named():
    before = optimizer_state()
    after = {name: before[name].copy() for name in ("var", "m", "v", "s")}
    openaclnn.apply_fused_ema_adam_(**{**before, **after}, bias_correction=False)
    report = openaclnn.judge("apply_fused_ema_adam_", after, **before)
    assert report.result == "error"
    cause = next(cause for cause in report.causes if cause.name == "missing-bias-correction")
    assert cause.explained > 0.9 and cause.text and cause.name in str(report)


def test_several_rules_and_a_third_device(sums):
    arguments, out = sums
    rough = out.astype(np.float16).astype(np.float32)
    report = openaclnn.judge("grouped_bias_add_grad", rough, rules=["openaclnn", "kernelbench", "bitwise"], **arguments)
    results = {verdict.rule: verdict.result for verdict in report.outputs[0].verdicts}
    assert results["openaclnn"] == "error" and results["bitwise"] == "error" and report.result == "error"
    report = openaclnn.judge("grouped_bias_add_grad", out, rules=["benchmark"], third=rough, level="L2", **arguments)
    assert report.result == "pass" and report.outputs[0].verdicts[0].metrics
    report = openaclnn.judge("grouped_bias_add_grad", rough * 2, rules="benchmark", third=out, **arguments)
    assert report.result == "error" and report.outputs[0].verdicts[0].reason
    report = openaclnn.judge("grouped_bias_add_grad", out, rules="benchmark", **arguments)
    assert report.result == "skip"


def test_settings_of_rules(sums):
    arguments, out = sums
    rough = out * np.float32(1.001)
    for settings, result in [({"rtol": 1e-2}, "pass"), ({"rtol": 1e-4, "atol": 0.0}, "error")]:
        assert openaclnn.judge("grouped_bias_add_grad", rough, rules="allclose", **settings, **arguments).result == result
    for threshold, result in [(0.01, "pass"), (1e-6, "error")]:
        assert openaclnn.judge("grouped_bias_add_grad", rough, rules="mere-mare", threshold=threshold, **arguments).result == result
    report = openaclnn.judge("grouped_bias_add_grad", rough, worst=2, label="mine", **arguments)
    assert len(report.outputs[0].worst) == 2 and report.calls[0].label == "mine"


def test_names_of_apis_choose_levels():
    """msprobe has level L1 for embedding; a golden of rows is exact, so the level only appears in the limits."""
    table, indices = random(6, 4), np.array([1, 2])
    settings = {"rules": "benchmark", "third": table[indices], "weight": table, "indices": indices}
    accepted = [{m.accepted for m in openaclnn.judge("embedding", table[indices], **settings, **more).outputs[0].verdicts[0].metrics}
                for more in ({}, {"level": "L1"}, {"api": "mul"})]
    assert accepted[0] == accepted[1] != accepted[2]


def test_reports_as_json_and_pictures(sums, tmp_path):
    arguments, out = sums
    out[1, 3] = np.nan
    report = openaclnn.judge("grouped_bias_add_grad", out, **arguments)
    data = json.loads(report.to_json())
    assert data["result"] == "error" and data["calls"][0]["outputs"][0]["worst"][0]["index"] == [1, 3]
    assert report.outputs[0].worst[0].index == (1, 3) and np.isnan(report.outputs[0].worst[0].device)
    names = report.save_svg(tmp_path / "report.svg")
    assert names == [tmp_path / "report.svg"]
    assert xml.etree.ElementTree.parse(names[0]).getroot().tag.endswith("svg")
    both = report + openaclnn.judge("grouped_bias_add_grad", out, **arguments)
    assert [path.name for path in both.save_svg(tmp_path / "both.svg")] == ["both-0.svg", "both-1.svg"]
    assert len(both.calls) == len(both.outputs) == 2 and "2 calls: 2 error" in str(both) and repr(both) == "<Report of 2 calls: error>"


def test_pairs_without_an_operator(sums):
    arguments, out = sums
    golden = openaclnn.golden("grouped_bias_add_grad", **arguments)["out"]
    assert openaclnn.judge_pair(out, golden, rules="openaclnn").result == "pass"
    assert openaclnn.judge_pair(moved(out, (0, 2), 300), golden, rules="openaclnn").outputs[0].worst[0].index == (0, 2)
    assert openaclnn.judge_pair(out, golden.exact).outputs[0].verdicts[0].rule == "assert-close"
    assert openaclnn.judge_pair(out, golden.exact, rules="openaclnn").result == "skip"
    assert openaclnn.judge_pair(out, golden.exact, rules="openaclnn", bound=np.zeros_like(golden.exact)).outputs[0].name == "result"
    assert openaclnn.judge_pair(out, out, rules="bitwise", name="bias", label="layer 3").calls[0].label == "layer 3"
    assert openaclnn.judge_pair(np.array([1, 2]), np.array([1, 3]), rules="binary").result == "error"


@needs_torch
def test_tensors():
    rows = torch.randn(40, 3).to(torch.bfloat16)
    arguments = {"grad_y": rows, "group_idx": torch.tensor([11, 40])}
    out = openaclnn.grouped_bias_add_grad(**arguments)
    report = openaclnn.judge("grouped_bias_add_grad", out.requires_grad_(), **arguments)
    assert report.result == "pass" and report.outputs[0].dtype == "BF16"
    wrong = out.detach().clone()
    wrong[1, 2] *= 1.5
    assert openaclnn.judge("grouped_bias_add_grad", wrong, **arguments).outputs[0].worst[0].index == (1, 2)


ROWS, ENDS = np.ones((4, 3), np.float32), np.array([4])


@pytest.mark.parametrize("results, more, kind, text", [
    (np.ones((1, 2), np.float32), {}, ValueError, "out has shape [1, 2]; it must be [1, 3]"),
    (np.ones((1, 3)), {}, ValueError, "out is DOUBLE; the call determines FLOAT"),
    ([[4.0, 4.0, 4.0]], {}, TypeError, "out is of type list; an array is needed"),
    ({"output": ROWS}, {}, TypeError, "GroupedBiasAddGradV2 has no result 'output'; its results are out"),
    ({}, {}, ValueError, "the call has no results to judge"),
    (np.full((1, 3), 4, np.float32), {"rules": "exact"}, ValueError, 'there is no rule "exact"; the rules are openaclnn, quick'),
    (np.full((1, 3), 4, np.float32), {"rules": ()}, ValueError, "rules is empty"),
    (np.full((1, 3), 4, np.float32), {"worst": -1}, ValueError, "worst is -1; it must be an int from 0 to 1,000"),
    (np.full((1, 3), 4, np.float32), {"rules": "benchmark", "third": np.ones((1, 3), np.float32), "level": "L7"}, ValueError,
     'the level is "L7"; it must be L0, L1 or L2'),
    (np.full((1, 3), 4, np.float32), {"rtol": 1e-3}, ValueError,
     "rtol is given, but no chosen rule uses it; rules that do: allclose, assert-close, flaggems, kernelbench, transformer-engine"),
    (np.full((1, 3), 4, np.float32), {"rules": ["allclose", "quick"], "threshold": 0.1}, ValueError,
     "threshold is given, but no chosen rule uses it; rules that do: mere-mare, attention, dynamo, transformer-engine"),
    (np.full((1, 3), 4, np.float32), {"rules": "quick", "level": "L1"}, ValueError,
     "level is given, but no chosen rule uses it; rules that do: benchmark, msprobe-26, acceptance"),
    (np.full((1, 3), 4, np.float32), {"rules": "bitwise", "equal_nan": True}, ValueError, "equal_nan is given, but no chosen rule"),
    (np.full((1, 3), 4, np.float32), {"rows": ROWS}, TypeError, "GroupedBiasAddGradV2 has no argument 'rows'"),
])
def test_errors_name_the_argument(results, more, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        openaclnn.judge("grouped_bias_add_grad", results, grad_y=ROWS, group_idx=ENDS, **more)


@pytest.mark.parametrize("device, golden, more, text", [
    (ROWS, ROWS[:3], {}, "result has shape [4, 3] but the golden has [3, 3]"),
    (ROWS, ROWS, {"bound": np.zeros(3)}, "result has 12 elements but 3 bounds"),
])
def test_pairs_of_other_shapes(device, golden, more, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        openaclnn.judge_pair(device, golden, **more)


def test_too_few_results():
    arguments, grad = compression()
    with pytest.raises(ValueError, match="NsaCompressGrad has the results input_grad, weight_grad; 1 was given"):
        openaclnn.judge("nsa_compress_grad", grad, grad=grad, **arguments)


ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_dump(folder, *words):
    script = ROOT / "examples" / "judge" / "make_dump.py"
    subprocess.run([sys.executable, str(script), str(folder), *words], check=True, capture_output=True)
    return folder


def test_dumps(tmp_path):
    good = make_dump(tmp_path / "good")
    report = openaclnn.judge_dump(good)
    assert report.result == "pass" and len(report.calls) > 3, report
    bad = make_dump(tmp_path / "bad", "--bad", "padding-row")
    report = openaclnn.judge_dump(bad, rules=["openaclnn", "benchmark"], third=str(good))
    wrong = [call for call in report.calls if call.result == "error"]
    assert report.result == "error" and [call.operator for call in wrong] == ["EmbeddingDenseBackward"], report
    assert "padding" in wrong[0].outputs[0].causes[0].name
    assert {verdict.rule: verdict.result for verdict in report.calls[0].outputs[0].verdicts}["benchmark"] == "pass"


def test_bad_dumps(tmp_path):
    with pytest.raises(FileNotFoundError):
        openaclnn.judge_dump(tmp_path / "missing")
    with pytest.raises(NotADirectoryError):
        openaclnn.judge_dump(__file__)
    folder = make_dump(tmp_path / "cut")
    tensor = next(folder.rglob("*.npy"))
    tensor.write_bytes(tensor.read_bytes()[:-8])
    with pytest.raises(ValueError, match=tensor.name):
        openaclnn.judge_dump(folder)


def test_rules_have_a_summary_and_a_source():
    rules = openaclnn.judge_rules()
    assert {"openaclnn", "quick", "benchmark", "mere-mare", "bitwise"} <= set(rules) and len(rules) > 20
    assert all(re.fullmatch(r"\S.*\(.+\)", text) for text in rules.values())


def test_the_judge_is_imported_at_its_first_use():
    program = ("import sys, numpy as np, openaclnn; print('openaclnn._judge' in sys.modules); "
               "openaclnn.golden('embedding', weight=np.ones((2, 1), np.float32), indices=np.array([0])); "
               "print('openaclnn._judge' in sys.modules)")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stdout + done.stderr
