# The pytest plugin of openaclnn. It is a package of its own, because pytest imports plugins at its start, and openaclnn loads a library.
"""The fixture assert_close_to_golden, and the option --golden-report FOLDER for reports of failed tests."""
from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from openaclnn import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("openaclnn").addoption(
        "--golden-report", metavar="FOLDER", help="write reports of assert_close_to_golden in failed tests to FOLDER: JSON and SVG")


def _save(report: Report, folder: pathlib.Path, test: str) -> pathlib.Path:
    """Writes the report and its pictures. A test with several reports gets a number after each but the first."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w.-]+", "_", test)[-150:]
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.json" for number in range(1, 10**6))
    path = next(name for name in names if not name.exists())
    path.write_text(report.to_json(), encoding="utf-8")
    report.save_svg(path.with_suffix(".svg"))
    return path


@pytest.fixture
def assert_close_to_golden(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """openaclnn.testing.assert_close_to_golden. With --golden-report FOLDER it saves the report of a failure."""
    from openaclnn import testing

    folder = request.config.getoption("--golden-report")

    def check(operator: str, results: Any, /, **arguments: Any) -> Report:
        __tracebackhide__ = True
        try:
            return testing.assert_close_to_golden(operator, results, **arguments)
        except testing.GoldenMismatch as mismatch:
            if folder is not None:
                path = _save(mismatch.report, pathlib.Path(folder), request.node.nodeid)
                mismatch.args = (f"{mismatch.args[0]}\nreport: {path}",)
            raise

    return check
