"""Every command of `experiments/run.py` in README and docs composes, and the pages say what the configuration says."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import yaml
from omegaconf import DictConfig, OmegaConf

from tests.composing import compose_run, expand_sweep

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
EXTEND = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
FILES = re.findall(r"^File `configs/([^`]+)`:\n\n```yaml\n(.*?)```", EXTEND, re.DOTALL | re.MULTILINE)
HEAD = "| setting | here | paper or released code | why |"
OF_PAPERS = {  # by the heading in docs/differences.md
    "CDM": ("+exp=cdm_dialogue", "data=fed", "data.root=FOLDER"),
    "CTRLEval": ("+exp=ctrleval_sentiment", "data=ctrleval", "data.root=FOLDER"),
    "MARS": ("+exp=mars_story",),
    "OUMG": ("+exp=guided_poetry", "data=songci", "data.root=FOLDER"),
}


def commands() -> list[str]:
    """What follows `python experiments/run.py` in code blocks and spans, each once."""
    text = "\n".join(page.read_text(encoding="utf-8").replace("\\\n", " ") for page in PAGES)
    found = [settings.strip() for settings in re.findall(r"python experiments/run\.py ([^`\n]+)", text)]
    return [settings for settings in dict.fromkeys(found) if "exp=" in settings and "NAME" not in settings]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config folder with the files that docs/extend.md adds."""
    folder = tmp_path_factory.mktemp("extended")
    for name, content in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@cache
def compose_first(command: str, folder: Path) -> DictConfig:
    """The configuration of a command, for a sweep that of its first job."""
    words = shlex.split(command, comments=True)
    settings = [word for word in words if not word.startswith("-")]
    may_sweep = settings != words or "+sweep=" in command
    jobs = expand_sweep(settings, folder) if may_sweep else [settings]
    assert (len(jobs) > 1) == ("-m" in words)
    return compose_run(jobs[0], folder)


@pytest.mark.parametrize("command", commands())
def test_a_command_composes(command: str, extended: Path) -> None:
    assert compose_first(command, extended).experiment._target_


@pytest.mark.parametrize("command", [command for command in commands() if "scale=paper" in command])
def test_a_command_at_the_papers_scale_may_fetch_what_it_needs_and_takes_a_gpu(command: str, extended: Path) -> None:
    config = compose_first(command, extended)
    assert config.network
    assert config.data.download
    assert config.model.device == "cuda"


@pytest.mark.parametrize("paper", OF_PAPERS)
def test_what_differs_from_a_paper_is_what_the_configuration_says(paper: str) -> None:
    config = compose_run([*OF_PAPERS[paper], "scale=paper"])
    section = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8").partition(f"\n## {paper}\n")[2]
    table = section.partition(HEAD)[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.MULTILINE)
    assert len(rows) == table.count("\n") - 1 >= 5
    for setting, value in rows:
        found = OmegaConf.select(config, setting, default="no such setting", throw_on_missing=True)
        assert (OmegaConf.to_object(found) if OmegaConf.is_config(found) else found) == yaml.safe_load(value), setting
