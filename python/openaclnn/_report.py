# Reports of judged calls as plain Python objects.
"""The native module writes the report as JSON; these classes hold it."""
from __future__ import annotations

import functools
import json
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    import os

    from openaclnn import _judge


@dataclass(frozen=True)
class Metric:
    """One number of a rule. accepted is empty if the number is only reported."""

    name: str
    value: float
    accepted: str
    result: str


@dataclass(frozen=True)
class Verdict:
    """The verdict of a rule about an output. result is "pass", "warning", "error" or "skip"; reason is empty if it is "pass"."""

    rule: str
    result: str
    reason: str
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class WorstElement:
    """One of the worst elements of an output.

    Attributes
    ----------
    index : its coordinates.
    device, exact : its value on the judged device, and in the golden.
    error : the difference of both; ulps is the same in ulps of the device's dtype.
    share_of_allowed_error : the error divided by ulp / 2 + bound; 0 without a bound.
    sources : the inputs that the element is made of, as text; the first ones if there are many.
    """

    index: tuple[int, ...]
    device: float
    exact: float
    error: float
    ulps: float
    share_of_allowed_error: float
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Cause:
    """A likely cause of wrong elements. explained is the share of the wrong elements that it explains."""

    name: str
    text: str
    explained: float


@dataclass(frozen=True)
class OutputReport:
    """The judgement of one output.

    Attributes
    ----------
    result : the worst result of all rules: "pass", "warning", "error" or "skip".
    wrong : the number of elements beyond the bound, or different ones if no bound is known.
    verdicts : one for each rule.
    worst : the worst elements.
    causes : likely causes of wrong elements; empty if none is known.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    result: str
    elements: int
    wrong: int
    verdicts: tuple[Verdict, ...]
    worst: tuple[WorstElement, ...]
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class CallReport:
    """The judgement of one call. skipped says why the call was not judged; it is empty if it was."""

    label: str
    operator: str
    result: str
    skipped: str
    outputs: tuple[OutputReport, ...]


def _output(data: dict[str, Any]) -> OutputReport:
    verdicts = tuple(Verdict(one["rule"], one["result"], one["reason"],
                             tuple(Metric(m["name"], float(m["value"]), m["accepted"], m["result"]) for m in one["metrics"]))
                     for one in data["verdicts"])
    worst = tuple(WorstElement(tuple(one["index"]), float(one["device"]), float(one["exact"]), float(one["error"]),
                               float(one["ulps"]), float(one["shareOfAllowedError"]), tuple(one["sources"]))
                  for one in data["worst"])
    causes = tuple(Cause(one["name"], one["text"], float(one["explained"])) for one in data["causes"])
    return OutputReport(data["name"], data["dtype"], tuple(data["shape"]), data["result"], data["elements"], data["wrong"],
                        verdicts, worst, causes)


class Report:
    """The judgement of one call or several. str(report) is the report as text.

    Attributes
    ----------
    result : the worst result of all calls: "pass", "warning", "error" or "skip".
    calls : a CallReport for each call.
    outputs : the outputs of all calls.
    causes : the likely causes of all outputs.
    """

    def __init__(self, reports: Sequence[_judge.CallReport]) -> None:
        self._reports = list(reports)

    @functools.cached_property
    def calls(self) -> tuple[CallReport, ...]:
        return tuple(CallReport(call["label"], call["operator"], call["result"], call["skipped"],
                                tuple(_output(output) for output in call["outputs"]))
                     for call in json.loads(self.to_json())["calls"])

    @functools.cached_property
    def result(self) -> str:
        result: str = json.loads(self.to_json())["result"]
        return result

    @property
    def outputs(self) -> tuple[OutputReport, ...]:
        return tuple(output for call in self.calls for output in call.outputs)

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple(cause for output in self.outputs for cause in output.causes)

    def __str__(self) -> str:
        from openaclnn import _judge

        return _judge.report_text(self._reports)

    def __repr__(self) -> str:
        return f"<Report of {len(self._reports)} calls: {self.result}>"

    def to_json(self) -> str:
        """Returns the report as JSON, in the format of `openaclnn judge --json`."""
        from openaclnn import _judge

        return _judge.report_json(self._reports)

    def save_svg(self, path: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Writes a picture of each output: the histogram of errors, and errors by magnitude.

        The only picture has the name `path`. Several have the number of the output before the suffix: report-0.svg.
        Returns the names of the files.
        """
        from openaclnn import _judge

        target = pathlib.Path(path)
        pictures = [(report, n, f"{call.label}: {output.name}")
                    for report, call in zip(self._reports, self.calls) for n, output in enumerate(call.outputs)]
        names = [target] if len(pictures) == 1 else [target.with_name(f"{target.stem}-{k}{target.suffix}") for k in range(len(pictures))]
        for name, (report, n, title) in zip(names, pictures):
            name.write_text(_judge.report_svg(report, n, title), encoding="utf-8")
        return names

    def __add__(self, other: Report) -> Report:
        """Returns a report of the calls of both."""
        return Report([*self._reports, *other._reports])
