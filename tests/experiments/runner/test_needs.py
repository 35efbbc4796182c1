"""What a run needs: checkpoints and sets, and which of them are missing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from omegaconf import OmegaConf

from experiments.runner.configuration import leaves
from experiments.runner.needs import find_checkpoints
from models.published import PUBLISHED
from tests.composing import compose_run
from tests.random_models import PAPER, build_random

pytestmark = pytest.mark.filterwarnings("default")  # Lightning's

HUB_NAME = re.compile(r"[A-Za-z][\w.-]*/[\w.-]+")
PAPERS = (
    *("cdm_dialogue", "cdm_commongen", "ctrleval_sentiment", "ctrleval_topic", "mars_story", "mars_news", "mars_qa"),
    *("oumg_poetry", "guided_poetry", "guided_text data=builtin_news"),
    "guided_text data=builtin_news generator=openai-community/gpt2 model.judge.build.encoder=google/some",
    "cdm_dialogue model=cdm/paper_3b",
    "ctrleval_sentiment model.iwf_tokenizer=google/pegasus-large model.bleurt=Elron/bleurt-base-128",
)
PAIR = (
    *("+exp=cdm_dialogue", "scale=paper", "data=builtin_dialogues", "model.device=cpu", "trainer=cpu"),
    *("data.train=50", "data.held_out=2", "data.rated=4"),
)
CHINESE = {"BERT-base-chinese": "google-bert/bert-base-chinese", "RoBERTa-large": "FacebookAI/roberta-large"}
OWNERS = {"T5": "google-t5/", "PEGASUS": "google/", "BART": "facebook/", "GPT": "openai-community/"}

Run = Callable[..., Any]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub without models."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.parametrize("command", PAPERS)
def test_every_hub_name_of_a_configuration_is_listed(command: str) -> None:
    experiment, *settings = command.split()
    root = ["data.root=FOLDER"] if experiment in ("mars_news", "mars_qa") else []
    given = [f"+exp={experiment}", "stages_dir=/stages", "scale=paper", *root, *settings]
    node: Any = OmegaConf.to_container(compose_run(given).experiment)
    values = [value for part, of_part in node.items() if part != "data" for _, value in leaves(of_part)]
    named = {value for value in values if isinstance(value, str) and HUB_NAME.fullmatch(value)}
    found = {*find_checkpoints(node)}
    assert named <= found
    assert named or "oumg" in command
    assert {name for name in found - set(PUBLISHED) if name != "offline"} <= {"google/some"}


@pytest.mark.parametrize("name", sorted(name for name in PAPER if "Llama" not in name))
def test_published_parameters_are_those_of_the_shape(name: str) -> None:
    owner = next((owner for kind, owner in OWNERS.items() if name.startswith(kind)), "")
    published = PUBLISHED[CHINESE.get(name) or owner + name.lower().replace("gpt-2", "gpt2")]
    with torch.device("meta"):
        assert sum(each.numel() for each in build_random(name).parameters()) == published.parameters


def test_all_that_is_missing_is_named_at_once(run: Run, empty_cache: Path) -> None:
    where = ("data=ctrleval", f"data.root={empty_cache}")
    ended = run("+exp=ctrleval_sentiment", "scale=paper", *where, "dry_run=true")
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if line.startswith("- ")]
    starts = """
        data: CACHE/ctrleval/data_senti
        model.infiller.name=google/pegasus-large: missing (2.28 GB)|model.causal.name=openai-community/gpt2:
        model.discriminator.build.encoder=google-bert/bert-base-uncased|model.bart=facebook/bart-large-cnn:
    """
    expected = [start.strip().replace("CACHE", str(empty_cache)) for start in re.split(r"[|\n]", starts.strip())]
    assert len(lines) == len(expected)
    assert [start for start in expected if not any(line[2:].startswith(start) for line in lines)] == []


@pytest.mark.usefixtures("empty_cache")
def test_a_hub_that_does_not_answer_is_not_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the hub was asked"))
    ended = run("+exp=mars_story", "scale=pretrained", "network=true", "dry_run=true", "data.rated=4", "data.train=9")
    assert ended.returncode == 0, ended.stderr
    assert "will be fetched (size not known)" in ended.stdout


@pytest.mark.usefixtures("empty_cache")
def test_with_the_network_a_missing_checkpoint_is_a_download(run: Run) -> None:
    ended = run("dry_run=true", *PAIR, "network=true", "model.dtype=bfloat16")
    assert ended.returncode == 0, ended.stderr
    assert "google-t5/t5-small" in ended.stdout
    assert "model.amateur.model.name" in ended.stdout
    assert "will be fetched (0.24 GB)" in ended.stdout
    assert "to download: 4.61 GB" in ended.stdout  # .242 + 2.95 + 1.42


@pytest.mark.usefixtures("empty_cache")
def test_what_the_settings_leave_out_is_not_missing(run: Run) -> None:
    few = ("data.train=40", "data.held_out=20")
    ended = run("+exp=oumg_poetry", "scale=paper", "model.device=cpu", "dry_run=true", *few)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("oumg_poetry: data builtin_verse, 40 training texts, 20 held out, no rated set\n")
    assert "bert-base-chinese" not in ended.stdout


def test_sets_that_will_be_fetched_are_named(run: Run, tmp_path: Path) -> None:
    words = ("+exp=cdm_dialogue", "data=fed", f"data.root={tmp_path}", "data.download=true", "dry_run=true")
    assert "fed/fed_test_coherence.txt will be fetched (size not known)" in run(*words, "network=true").stdout
    ended = run(*words)
    assert ended.returncode == 2
    assert "will be fetched" not in ended.stdout
    assert "Fetch it with data.download=true network=true" in ended.stderr
