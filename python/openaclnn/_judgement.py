# Judgements: whether results of any device are close enough to goldens.
"""openaclnn.judge, openaclnn.judge_pair and openaclnn.judge_dump. The native module is imported at the first call."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from openaclnn._calls import add_results, as_function, find_operator, make_call
from openaclnn._golden import GoldenOutput, _thread_count
from openaclnn._host_arrays import host_array
from openaclnn._report import Report

if TYPE_CHECKING:
    from openaclnn import _judge


def _options(rules: Sequence[str], api: str, level: str | None, threshold: float | None, rtol: float | None, atol: float | None,
             equal_nan: bool, worst: int, threads: int) -> _judge.Options:
    from openaclnn import _judge

    names = [rules] if isinstance(rules, str) else list(rules)
    if not names:
        raise ValueError("rules is empty; at least one rule is needed")
    if not isinstance(worst, int) or not 0 <= worst <= 1000:
        raise ValueError(f"worst is {worst!r}; it must be an int from 0 to 1,000")
    return _judge.Options(names, api, level or "", threshold, rtol, atol, equal_nan, worst, _thread_count(threads))


def judge_rules() -> dict[str, str]:
    """Returns the acceptance rules by name, each with a summary and its source."""
    from openaclnn import _judge

    return {name: f"{summary} ({source})" for name, summary, source in _judge.rules()}


def judge(operator: str, results: Any, /, *, rules: Sequence[str] = ("openaclnn",), third: Any = None, api: str | None = None,
          level: str | None = None, threshold: float | None = None, rtol: float | None = None, atol: float | None = None,
          equal_nan: bool = False, worst: int = 5, threads: int = 0, label: str | None = None, **arguments: Any) -> Report:
    """Judges the results of an operator on any device against the golden of the same arguments.

    Parameters
    ----------
    operator : as in openaclnn.golden.
    results : what the device computed: an array if the operator has one result, else a tuple in the order of the function,
        or a dict by name such as {"weight_grad": array}. Results that are None or missing in the dict are not judged.
        A list of tensors is a list of arrays. Shape and dtype are those that the arguments determine.
    rules : names of judge_rules(). The result is the worst of all.
    third : the results of a third device in the same form, for rules that compare two devices, such as "benchmark".
    api : name by which the rules of msprobe choose levels and lists; by default that of the operator.
    level : "L0", "L1" or "L2", of the rules "benchmark", "acceptance" and "msprobe-26"; by default that of api.
    threshold : of the rules "mere-mare", "attention", "dynamo" and "transformer-engine".
    rtol, atol : tolerances of rules such as "allclose", instead of their own.
    equal_nan : NaN equals NaN, in the same rules.
    worst : number of the worst elements to report for each output.
    threads : number of threads; 0: one for each CPU that the process may use.
    label : heading of the report; by default the operator.
    arguments : as in openaclnn.golden. Copy updated tensors such as var before your kernel overwrites them. Without
        actual_seq_len, "nsa_compress" is one sequence. With "aclnnNsaCompress" and "nsa_compress_grad", as in those functions,
        the number of windows determines how many sequences of equal length there are.

    Returns
    -------
    Report. print(report) shows the verdicts, the worst elements with their inputs, and likely causes.

    Raises
    ------
    TypeError : an argument or result is unknown, missing or not an array.
    ValueError : the operator or a rule is unknown, no chosen rule uses a setting such as rtol, or shapes, dtypes or values contradict
        each other.
    """
    from openaclnn import _judge

    described = find_operator(operator, arguments)
    arguments = as_function(operator, described, arguments)
    call = make_call(described, arguments, "judge")
    add_results(described, results, call.add_result, arguments, "judge")
    if third is not None:
        add_results(described, third, call.add_third, arguments, "judge")
    if label is not None:
        call.set_label(label)
    options = _options(rules, described.python_name if api is None else api, level, threshold, rtol, atol, equal_nan, worst,
                       threads)
    return Report([_judge.judge(call, options)])


def judge_pair(device: Any, golden: Any, *, rules: Sequence[str] = ("assert-close",), bound: Any = None, third: Any = None,
               api: str = "", level: str | None = None, threshold: float | None = None, rtol: float | None = None,
               atol: float | None = None, equal_nan: bool = False, worst: int = 5, threads: int = 0, name: str = "result",
               label: str = "pair") -> Report:
    """Judges one array against a golden of your own, without an operator.

    Parameters
    ----------
    device : the judged array.
    golden : the array that it is compared with, best in float64, or an output of openaclnn.golden, which also has a bound.
    bound : how far each element may be from golden beyond half an ulp, an array of golden's shape. The rule "openaclnn"
        needs it.
    third : the array of a third device.
    name, label : names of the output and the call in the report.
    rules, api, level, threshold, rtol, atol, equal_nan, worst, threads : as in openaclnn.judge.

    Returns
    -------
    Report, without inputs of the worst elements. Causes are those that need no inputs.

    Raises
    ------
    TypeError : an argument is not an array. ValueError : a rule is unknown, no chosen rule uses a setting, or shapes or
        numbers of elements differ.
    """
    from openaclnn import _judge

    exact = golden
    if isinstance(golden, GoldenOutput):
        exact, bound = golden.exact, golden.bound if bound is None else bound
    options = _options(rules, api, level, threshold, rtol, atol, equal_nan, worst, threads)
    return Report([_judge.judge_pair(label, name, host_array(device, "device"), host_array(exact, "golden"),
                                     None if bound is None else host_array(bound, "bound"),
                                     None if third is None else host_array(third, "third"), options)])


def judge_dump(folder: str | os.PathLike[str], /, *, rules: Sequence[str] = ("openaclnn",),
               third: str | os.PathLike[str] | None = None, level: str | None = None, threshold: float | None = None,
               rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, worst: int = 5,
               threads: int = 0) -> Report:
    """Judges the calls of a dump against goldens of their inputs.

    Parameters
    ----------
    folder : a dump of msprobe with its tensors: dump.json, or step and rank folders that have it. Dumps of openaclnn by acl.json
        have this layout. Calls of operators that openaclnn lacks are left out.
    third : the folder of a third device, for rules that compare two devices.
    rules, level, threshold, rtol, atol, equal_nan, worst, threads : as in openaclnn.judge. The rules of msprobe know the name of
        each call.

    Returns
    -------
    Report, one call for each of the dump. A call that cannot be judged has the reason in `skipped`.

    Raises
    ------
    FileNotFoundError, NotADirectoryError : folder or third isn't a folder.
    ValueError : the dump is malformed, a tensor is truncated, shapes contradict each other, there is no call to judge, or no chosen rule
        uses a setting.
    """
    from openaclnn import _judge

    paths = [os.fspath(path) for path in (folder, third) if path is not None]
    for path in paths:
        os.scandir(path).close()  # raises if it isn't a folder
    options = _options(rules, "", level, threshold, rtol, atol, equal_nan, worst, threads)
    return Report(_judge.judge_dump(paths[0], paths[1] if third is not None else "", options))
