"""What a run needs, before its hours: checkpoints, data, memory, devices, time."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from omegaconf import OmegaConf

from experiments.runner.configuration import complete_experiment, compose_run
from experiments.runner.doctor import count_activations, find_checkpoints
from experiments.runner.trust import leaves
from models.published import PUBLISHED
from models.tiny import TinyT5
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
OF_METRICS = [
    f"score metric={name} data.path=in.jsonl output=out.jsonl"
    for name in ("ctrleval", "mars", "bartscore", "bleurt", "perplexity_seq2seq", "uni_eval", "bertscore")
]
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


def compose(command: str) -> dict[str, Any]:
    experiment, *settings = command.split()
    root = ["data.root=FOLDER"] if experiment in ("mars_news", "mars_qa") else []
    scale = [] if experiment == "score" else ["scale=paper"]
    config = compose_run([f"+exp={experiment}", "stages_dir=/stages", *scale, *root, *settings])
    found: Any = OmegaConf.to_container(config)
    return found


@pytest.mark.parametrize("command", [*PAPERS, *OF_METRICS])
def test_every_hub_name_of_a_configuration_is_listed(command: str) -> None:
    experiment = complete_experiment(compose(command))
    values = [value for part, node in experiment.items() if part != "data" for _, value in leaves(node)]
    named = {value for value in values if isinstance(value, str) and HUB_NAME.fullmatch(value)}
    found = {name for name, _ in find_checkpoints(experiment, None)}
    assert named <= found
    assert named or "oumg" in command or "bertscore" in command or "mars" in command
    assert {name for name in found - set(PUBLISHED) if name != "offline"} <= {"google/some"}


@pytest.mark.parametrize("name", sorted(name for name in PAPER if "Llama" not in name))
def test_published_parameters_are_those_of_the_shape(name: str) -> None:
    owner = next((owner for kind, owner in OWNERS.items() if name.startswith(kind)), "")
    published = PUBLISHED[CHINESE.get(name) or owner + name.lower().replace("gpt-2", "gpt2")]
    with torch.device("meta"):
        assert sum(each.numel() for each in build_random(name).parameters()) == published.parameters


def test_all_that_is_missing_is_named_at_once(run: Run, empty_cache: Path, tmp_path: Path) -> None:
    where = (f"data.root={empty_cache}", "model.metric.sentence_split=words")
    ended = run("doctor", "ctrleval_sentiment", "scale=paper", "data=ctrleval", "model.device=cuda:99", *where)
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if line.startswith("- ")]
    starts = """
        model.device: device=cuda:99|model.metric.sentence_split: |data: CACHE/ctrleval/data_senti
        model.infiller.name=google/pegasus-large: missing (2.28 GB)|model.causal.name=openai-community/gpt2:
        model.discriminator.build.encoder=google-bert/bert-base-uncased|model.bart=facebook/bart-large-cnn:
    """
    expected = [start.strip().replace("CACHE", str(empty_cache)) for start in re.split(r"[|\n]", starts.strip())]
    found = [line[2 : 2 + len(start)] for line, start in zip(lines, expected, strict=True)]
    assert found == expected
    assert list(tmp_path.iterdir()) == []  # neither a run folder nor a cache


def test_devices_of_metrics_and_a_local_folder_without_weights(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    one = ("metrics=ctrleval", f"metrics.ctrleval.model={tmp_path}/model", "metrics.ctrleval.device=cuda:99")
    one += ("metrics.ctrleval.dtype=bf16",)
    ended = run("doctor", "score", "output=out.jsonl", "data.path=in.jsonl", *one)
    _, device, dtype, model = ended.stderr.splitlines()
    assert dtype.startswith(
        "- metrics.ctrleval.dtype: dtype must be one of float32, bfloat16, float16, auto, but is 'bf16'"
    )
    assert device.startswith("- metrics.ctrleval.device: device=cuda:99, but this machine has")
    assert model == f"- metrics.ctrleval.model={tmp_path}/model: weights missing (size not known)"


@pytest.mark.usefixtures("empty_cache")
def test_with_the_network_a_missing_checkpoint_is_a_download(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.devices.free_memory", lambda device: None)  # that of this machine changes
    ended = run("dry_run=true", *PAIR, "network=true", "model.dtype=bfloat16")
    assert ended.returncode == 0, ended.stderr
    rows = {line.split()[0]: line.split() for line in ended.stdout.splitlines() if "(0.24 GB)" in line or "/" in line}
    place = ["model.amateur.model.name", "will", "be", "fetched", "(0.24", "GB)", "0.242"]
    assert rows["google-t5/t5-small"][1:8] == place
    assert rows["google-t5/t5-large"][7:11] == ["2.950", "738", "1.475", "11.803"]  # 737,668,096 of 2 and of 16 bytes
    assert rows["FacebookAI/roberta-large"][8:10] == ["355", "1.422"]
    assert "at 0.05 TFLOP/s" in ended.stdout
    assert "to download: 4.61 GB" in ended.stdout  # .242 + 2.95 + 1.42


@pytest.mark.parametrize(("lost", "code"), [((), 0), (("model.safetensors",), 2)])
def test_a_folder_without_weights_is_not_whole(lost: tuple[str, ...], code: int, run: Run, tmp_path: Path) -> None:
    model = TinyT5(300, d_model=8, d_ff=8, num_heads=1, num_layers=1, num_decoder_layers=1).build(["a b"], (), seed=0)
    model.save_pretrained(tmp_path / "model")
    for file in lost:
        (tmp_path / "model" / file).unlink()
    names = [f"model.{one}.model.name={tmp_path}/model" for one in ("amateur", "expert")]
    ended = run("dry_run=true", *PAIR, *names, "model.discriminators.bert.build.encoder=offline")
    assert ended.returncode == code, ended.stderr
    assert ("weights missing" in ended.stderr) == (code == 2)
    assert "logger" not in ended.stdout  # its mode is offline too
    assert "to download: 0.00 GB" in ended.stdout


@pytest.mark.parametrize(
    ("precision", "settings", "expected"),
    [
        ("bf16-mixed", {}, 42.91),  # 24 layers x 16,000 tokens x (15 x 1024 + 4 x 4096 + 5 x 16 x 1000) bytes
        ("32-true", {}, 85.82),
        ("bf16-mixed", {"token_budget": 1}, 2.68),
        ("bf16-mixed", {"checkpointing": True}, 2.57),  # one layer, and 2 x 1024 bytes a token for each
    ],
)
def test_memory_of_activations_by_hand(precision: str, settings: dict[str, Any], expected: float) -> None:
    shape = PUBLISHED["google-t5/t5-large"].shape
    plan = {"learns": {"max_length": 1000}, "schedule": {"token_budget": 16384, **settings}}
    assert shape
    assert count_activations(shape, plan, 1200, precision) / 1e9 == pytest.approx(expected, abs=0.005)


def test_what_the_settings_leave_out_is_not_missing(run: Run, empty_cache: Path) -> None:
    few = ("data.train=40", "data.held_out=20")
    ended = run("doctor", "oumg_poetry", "scale=paper", "model.device=cpu", "trainer=cpu", *few)
    assert ended.returncode == 0, ended.stderr
    assert "bert-base-chinese" not in ended.stdout
    assert re.search(r"from scratch +plan\.generator ", ended.stdout)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("plan", "plan: nothing trains\ndata: none of its own\nto download: 0.00 GB of weights\n"),
        ("score in.jsonl metric=bleu output=out.jsonl", "score: nothing trains\ndata: read by the run itself\n"),
        (
            "guided_text data=builtin_reviews model.device=cpu",
            "data builtin_reviews: 6000 training texts, 300 held out",
        ),
        (
            "cdm_dialogue data=fed data.root=ROOT data.download=true",
            "data: fed/fed_test_coherence.txt will be fetched (size not known)",
        ),
    ],
)
def test_what_needs_no_model_or_little(run: Run, tmp_path: Path, command: str, said: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    ended = run("doctor", *command.replace("ROOT", str(tmp_path)).split())
    assert said in ended.stdout
    assert "Traceback" not in ended.stderr
