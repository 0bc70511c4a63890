# The package itself: stubs that match the functions, docstrings, the doctor, what an import brings along.
import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

import openaclnn

FOLDER = pathlib.Path(openaclnn.__file__).parent
FUNCTIONS = [name for name in openaclnn.__all__ if name[0].islower() and name != "doctor"]


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


def test_the_stub_is_typed():
    assert (FOLDER / "py.typed").exists()


def test_doctor(capsys):
    assert openaclnn.doctor()
    text = capsys.readouterr().out
    assert re.search(r"numpy [\d.]+: works", text) and "libopenaclnn.so.1" in text


def test_importing_imports_numpy_only():
    program = "import sys, openaclnn; print([m for m in ('torch', 'jax', 'ml_dtypes') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("choice", ["", "auto", "cpu"])
def test_the_platform_is_the_cpu(choice):
    code = "import os, openaclnn; print(os.environ['OPENACLNN_DEVICE'])"
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "OPENACLNN_DEVICE": choice}, capture_output=True, text=True)
    assert run.stdout.strip() == "cpu", run.stderr


def test_the_wheel_builds_no_other_part_of_the_project():
    """Other parts need packages that the wheel's users need not have, such as CLI11 for the program."""
    root = pathlib.Path(__file__).resolve().parents[2]
    parts = re.findall(r"^option\((OPENACLNN_BUILD_\w+)", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
    decided = dict(re.findall(r'^(OPENACLNN_BUILD_\w+) = "(\w+)"', (root / "pyproject.toml").read_text(), re.MULTILINE))
    assert {part: decided.get(part) for part in parts} == {part: "ON" if part.endswith("PYTHON") else "OFF" for part in parts}
