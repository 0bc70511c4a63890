# Runs the Python blocks of the pages: each page from top to bottom, in an empty folder, only the visible text. tests/docs runs
# the other languages.
import pathlib
import sys

import pytest

from conftest import jax, torch, torch_version

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "docs"))
import pages  # noqa: E402

BLOCKS = {page: [block for block in pages.blocks(page) if block.language == "python"] for page in pages.pages()}
# The pages describe the newest versions. They name the features that older versions lack, which other tests cover.
NEWEST_TORCH, NEWEST_JAX = (2, 4), (0, 8)


def why_not(text):
    """Returns why blocks with this text cannot run here, or None."""
    if "torch" in text and torch_version() < NEWEST_TORCH:
        return f"needs PyTorch {NEWEST_TORCH[0]}.{NEWEST_TORCH[1]} or later; here is {torch.__version__ if torch else 'none'}"
    if "jax" in text and (jax is None or tuple(map(int, jax.__version__.split(".")[:2])) < NEWEST_JAX):
        return f"needs JAX {NEWEST_JAX[0]}.{NEWEST_JAX[1]} or later; here is {jax.__version__ if jax else 'none'}"
    return None


@pytest.fixture
def torch_as_it_was():
    """Restores PyTorch after a page, because a page may install NPU devices in this process."""
    yield
    compat = sys.modules.pop("openaclnn.compat.torch_npu", None)
    if compat is not None:
        compat.uninstall()


@pytest.mark.usefixtures("torch_as_it_was")
@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in BLOCKS[page]:
        if "not run" in block.says:
            print(f"{block}: {block.says['not run']}")
            continue
        if reason := why_not(block.text):
            pytest.skip(f"{block}: {reason}")
        exec(compile(block.text, str(block), "exec"), names)


def test_there_are_blocks():
    assert sum(map(len, BLOCKS.values())) >= 5
