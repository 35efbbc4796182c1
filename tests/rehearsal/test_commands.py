"""Every command of the docs with models of the hub, as printed, with the stand-in hub and slices of the real data."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from core.objects import leaves
from experiments.runner.hardware import check_trainer
from models.folders import find_folder
from tests.composing import compose_run, expand_sweep, list_misfits
from tests.rehearsal.hub import CHECKPOINTS, into_cache, write_hub

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PROGRAM = r"(?:python experiments/run\.py|\bjudge) "
FOLDED, COMMAND = re.compile(r"\s*\\\n\s*"), re.compile(PROGRAM + r"[^`\n]*scale=(?:paper|pretrained)[^`\n]*")
HUB_NAME = re.compile(
    r"\b(?:Qwen|google|google-t5|facebook|openai-community|FacebookAI|google-bert|EleutherAI|Elron|allenai"
    r"|sentence-transformers|MingZhong)/[\w.-]*\w"
)
# What a rehearsal changes in a printed command: values of it, then further settings by experiment, counts most of all.
REPLACED = {"network": "false", "data.download": "false", "trainer": "cpu"}
EVERYWHERE = ("trainer=cpu", "logger=none", "model.device=cpu")
PAIR = """
model.amateur.schedule.epochs=1 model.expert.schedule.epochs=1 model.negatives.dialogues=6
model.negatives.sampling.longest=6 model.discriminators.bert.training.epochs=1 model.pooler.dialogues=6
model.rules=[deam_like]
"""
CTRLEVAL = """
model.discriminator.texts=48 model.discriminator.training.epochs=1
model.metric.sentence_split=english
"""
MARS = "ratios=[0.0,0.2] largest_ratios=[0.0,0.2]"
GUIDED = """
strengths=[0,4] ks=[8] sampling.inputs=2 sampling.new_tokens=4 sampling.batch_size=4 labels=[positive]
model.guides.causal.training.epochs=1 model.judge.training.epochs=1
"""
POETRY = """
data.held_out_fraction=0.5 inputs=24 seeds=[0] model.checked=10 model.generator.schedule.epochs=1
model.guides.causal.training.epochs=1 model.judges.bilstm.training.epochs=1 model.judges.bert.training.epochs=1
"""
# 87 M parameters: few poems are in memory at once.
PUBLISHED_SHAPE = f"{POETRY} +model.generator.schedule.token_budget=2000"
PRETRAINED_PAIR = """
model.negatives.dialogues=6 model.negatives.sampling.longest=6 model.discriminators.bert.training.epochs=1
model.pooler.dialogues=6 model.rules=[deam_like]
"""
FEWER_PRETRAINED = {
    "cdm_dialogue": PRETRAINED_PAIR,
    "ctrleval_sentiment": "",
    "mars_story": MARS,
    "guided_text": GUIDED,
}
FEWER = {
    "cdm_dialogue": PAIR,
    "cdm_commongen": PAIR,
    "ctrleval_sentiment": CTRLEVAL,
    "ctrleval_topic": CTRLEVAL,
    "mars_story": MARS,
    "mars_news": MARS,
    "mars_qa": MARS,
    "guided_poetry": POETRY,
    "oumg_poetry": PUBLISHED_SHAPE,
    "guided_text": GUIDED,
}
# The lines of each file of the real data that a rehearsal reads: every so many lines, and how many of these.
SLICES = {
    "attributes/*.jsonl": (5, 160),
    "commongen_train/*.jsonl": (20, 40),
    "commongen_trinity/trinity.jsonl": (1, 36),
    "ctrleval/data_senti.txt": (1, 24),
    "ctrleval/iwf_full.txt": (1, 10**6),
    "ctrleval/prompt/*.txt": (1, 10),
    "dialogue/*.txt": (40, 8),
    "dstc9/*.txt": (1, 8),
    "dstc9/*.tsv": (1, 9),
    "fed/*.[jt][sx]*": (1, 8),
    "fed/*.tsv": (1, 9),
    "newsroom/*.jsonl": (1, 2),
    "qa_ratings/*.jsonl": (1, 6),
    "roc_stories/mans_roc.jsonl": (1, 10),
    "roc_stories/roc_plain.txt": (40, 40),
    "songci/songci.jsonl": (25, 600),
}


def find_commands(scale: str = "") -> list[str]:
    """The commands with models of the hub, each once; of one scale, or of all."""
    found = [each for page in PAGES for each in COMMAND.findall(FOLDED.sub(" ", page.read_text("utf-8")))]
    return list(dict.fromkeys(each for each in found if "dry_run=true" not in each and f"scale={scale}" in each))


def rehearse(command: str, data: Path) -> list[str]:
    """The settings of a printed command with what a rehearsal changes."""
    settings = [word for word in shlex.split(re.sub(f"^{PROGRAM}", "", command)) if word != "-m"]
    pairs = [word.replace("FOLDER", str(data)).partition("=") for word in settings]
    words = [f"{name}={REPLACED.get(name, value)}" for name, _, value in pairs]
    experiment = next(word for word in words if word.startswith("+exp=")).removeprefix("+exp=")
    fewer = FEWER if "scale=paper" in words else FEWER_PRETRAINED
    return [*words, *EVERYWHERE, *fewer[experiment].split()]


def compose_jobs(command: str, data: Path, *settings: str) -> Iterator[DictConfig]:
    """The configuration of each job of a rehearsed command."""
    words = rehearse(command, data)
    for job in expand_sweep(words) if " -m " in command else [words]:
        yield compose_run([*job, *settings])


def find_names(config: DictConfig) -> set[str]:
    """The checkpoints of the hub that a configuration names."""
    plain: dict[str, Any] = OmegaConf.to_container(config)  # pyright: ignore[reportAssignmentType]
    return {name for _, value in leaves(plain) for name in HUB_NAME.findall(str(value))}


@cache
def find_first_readers() -> dict[str, str]:
    """The first command that names each checkpoint."""
    found: dict[str, str] = {}
    for command in find_commands():
        for config in compose_jobs(command, Path("FOLDER")):
            found |= dict.fromkeys(find_names(config) - found.keys(), command)
    return found


def test_settings_of_the_papers_are_printed_as_whole_commands() -> None:
    spans = [span for page in PAGES for span in re.findall(r"`([^`\n]*scale=paper [^`\n]*)`", page.read_text("utf-8"))]
    assert [span for span in spans if not COMMAND.search(span)] == []


def test_every_experiment_of_a_paper_is_rehearsed() -> None:
    for scale, fewer in (("paper", FEWER), ("pretrained", FEWER_PRETRAINED)):
        settings = [word for command in find_commands(scale) for word in rehearse(command, Path())]
        assert {word.removeprefix("+exp=") for word in settings if word.startswith("+exp=")} == set(fewer)


def test_the_hub_has_every_checkpoint_that_configurations_and_pages_name() -> None:
    files = [*PAGES, *sorted((ROOT / "configs").rglob("*.yaml"))]
    named = {name for file in files for name in HUB_NAME.findall(file.read_text("utf-8"))}
    assert named <= set(CHECKPOINTS)


def test_every_command_is_composed_and_finds_its_models_and_data(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/config.json").write_text("{}", "utf-8")
    cache = tmp_path / "hub"
    for name in CHECKPOINTS:
        into_cache(tmp_path / "made", cache, name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    read: dict[str, Any] = {}
    for command in find_commands():
        for config in compose_jobs(command, data, f"outputs={tmp_path}"):
            check_trainer(config.trainer)
            plain: dict[str, Any] = OmegaConf.to_container(config)  # pyright: ignore[reportAssignmentType]
            assert list_misfits(plain) == []
            named = find_names(config)
            assert named, command
            assert [name for name in named if find_folder(name) is None] == []
            key = repr(plain["data"])
            read[key] = read[key] if key in read else instantiate(config.data, _convert_="all")
            assert read[key].rated or read[key].train, command


@pytest.fixture(scope="module")
def hubs(vocabularies: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The stand-in for the hub by the number of its layout."""

    @cache
    def write(layout: int) -> Path:
        folder = tmp_path_factory.mktemp("hub")
        write_hub(folder, vocabularies, layout)
        return folder

    return write


@pytest.fixture(scope="module")
def data(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slice of the public sets.

    Three are not among them: CTRLEval's topics are its texts with topics as labels, the files of CDM's authors are
    dialogues of the same two sets, and their graphs relate the first two words of each turn.
    """
    folder = tmp_path_factory.mktemp("data")
    for pattern, (step, count) in SLICES.items():
        for file in shared_data.glob(pattern):
            if file.name != "README.md":
                lines = file.read_text("utf-8").splitlines()[::step][:count]
                (folder / file.relative_to(shared_data)).parent.mkdir(parents=True, exist_ok=True)
                (folder / file.relative_to(shared_data)).write_text("\n".join(lines) + "\n", "utf-8")
    valid = [(folder / f"dialogue/{name}_valid.txt").read_text("utf-8") for name in ("topicalchat", "personachat")]
    (folder / "dialogue/clean_train.txt").write_text((folder / "dialogue/topicalchat_test.txt").read_text("utf-8"))
    (folder / "dialogue/clean_valid.txt").write_text("".join(valid))
    dialogues = (folder / "dialogue/clean_train.txt").read_text("utf-8").splitlines()
    (folder / "graphs.amr").write_text("\n".join(map(write_graph, "</UTT>".join(dialogues).split("</UTT>"))))
    rows = [line.split("\t")[1:] for line in (folder / "ctrleval/data_senti.txt").read_text("utf-8").splitlines()]
    topics = [("computers", "politics", "religion", "science")[i // 12 % 4] for i in range(len(rows))]
    text = "\n".join("\t".join([topic, *row]) for topic, row in zip(topics, rows, strict=True))
    (folder / "ctrleval/data_topic.txt").write_text(text + "\n", "utf-8")
    return folder


def write_graph(turn: str) -> str:
    """A graph that relates the first two words of a turn, in the form of a parser; "" for a shorter turn."""
    words = turn.split()
    return f"# ::tok {' '.join(words)}\n(a / first~e.0 :ARG0 (b / second~e.1))\n" if len(words) > 1 else ""


def run_to_the_end(words: Sequence[str], hub: Path, folder: Path) -> None:
    environment = {**os.environ, "HF_HUB_CACHE": str(hub), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    run = [sys.executable, str(ROOT / "experiments/run.py"), *words, f"outputs={folder}"]
    if words[0] == "score":
        program = "import sys; from judge.cli import console; sys.exit(console())"
        run = [sys.executable, "-c", program, *words, "--stages", str(folder)]
    before = getrusage(RUSAGE_CHILDREN).ru_utime
    ended = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    print(f"{getrusage(RUSAGE_CHILDREN).ru_utime - before:.0f} s of processor time: {' '.join(words)}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "layout"), [("bartscore", 0), ("bleurt", 0), ("bleurt", 1), ("uni_eval", 0), ("uni_eval", 1)]
)
def test_a_metric_of_the_hub_scores(metric: str, layout: int, hubs: Callable[[int], Path], tmp_path: Path) -> None:
    name = "dialogues" if metric == "uni_eval" else "summaries"
    out = tmp_path / "out.jsonl"
    settings = ["score", f"{ROOT}/docs/examples/{name}.jsonl", "--metric", metric, "--output", str(out)]
    run_to_the_end(settings, hubs(layout), tmp_path)
    scores = [json.loads(line)["scores"] for line in out.read_text("utf-8").splitlines()]
    assert all(value is not None for each in scores for value in each.values())


@pytest.mark.slow
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("command", find_commands())
def test_a_command_of_the_paper_runs_to_the_end(
    command: str, layout: int, hubs: Callable[[int], Path], data: Path, tmp_path: Path
) -> None:
    differing = [reader for name, reader in find_first_readers().items() if len(CHECKPOINTS[name].layouts) > 1]
    if layout and command not in differing:
        pytest.skip("another command reads the second layout of its checkpoints, or none has one")
    run_to_the_end([*["-m"][: " -m " in command], *rehearse(command, data)], hubs(layout), tmp_path)
    results = [json.loads(file.read_text("utf-8")) for file in tmp_path.rglob("results.json")]
    assert results
    for found in results:
        assert [row for row in found["table"] if {"kendall", "strength", "ur"} & row.keys()]
