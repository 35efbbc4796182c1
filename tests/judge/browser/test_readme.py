"""`+exp=models`: a model of each kind, and the commands of the README that use them run as they stand."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.example import Example
from core.notes import TINY
from judge.browser.judging import load_metrics
from tests.repository.test_docs import PAGES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).resolve().parents[3]
README = PAGES[0].read_text(encoding="utf-8").replace("\\\n", " ")
COMMANDS = re.findall("`judge ([^`]*outputs/tiny[^`]*)`", README)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_the_tiny_models_runs(
    run_here: Callable[..., int], tmp_path: Path, tiny_run: Path, command: str
) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "examples")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "tiny").symlink_to(tiny_run)
    assert run_here(*shlex.split(command), "--report", "here") == 0
    assert (tmp_path / "here" / "report.html").is_file()


def test_every_score_of_a_tiny_model_says_so(tiny_run: Path) -> None:
    text = Example("t", text="The soup was hot.", prefix="The soup", label="positive", references=("It was hot.",))
    dialogue = Example("d", turns=("hello tom.", "hello anna."))
    for name, metric in load_metrics(tiny_run / "models").items():
        notes = metric.score([dialogue if name.startswith("CDM") else text]).notes
        assert notes == (() if name in ("word count", "ROUGE-L", "BLEU") else (TINY,)), name
