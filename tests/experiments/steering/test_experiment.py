import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import judge
from data.files import read_examples
from discriminators.guides import load_guide
from experiments.steering.tables import is_above_chance
from models.causal import CausalLM

pytestmark = pytest.mark.usefixtures("plain_page")
MODELS = """
data.train=200 data.held_out=24 data.rated=16
model.generator.model.vocabulary=400 model.generator.model.hidden_size=16 model.generator.model.num_hidden_layers=1
model.generator.model.num_attention_heads=2 model.generator.model.intermediate_size=32 model.generator.schedule.epochs=1
model.guides.causal.build.embedding_dim=8 model.guides.causal.build.hidden_dim=8
model.guides.causal.training.epochs=1
"""
HERE = ("trainer=cpu", "logger=none", "outputs=.")
TOY = (*MODELS.split(), *HERE)
OWN = TOY[3:]  # without the sizes of data
SMALL = """
model.judge.build.embedding_dim=8 model.judge.build.hidden_dim=8 model.judge.training.epochs=1
strengths=[0,4] ks=[8] sampling.inputs=3 sampling.new_tokens=6 sampling.batch_size=4
"""
Run = Callable[..., Any]


def test_sentiment_and_one_prompt_by_its_models(finish: Run, tmp_path: Path) -> None:
    rows = finish("+exp=guided_text", "data=builtin_reviews", *TOY, *SMALL.split(), folder="first")["table"]
    page = (tmp_path / "first/report.html").read_text("utf-8")
    assert "<h1>guided_text</h1>" in page
    assert re.search('<p class="verdict">(No verdict on guidance|Guidance) of strength 4 at k 8', page)
    by_label = [(label, strength) for strength in (0.0, 4.0) for label in ("negative", "positive")]
    assert [(r["label"], r["strength"]) for r in rows] == [("all", 0.0), ("all", 4.0), *by_label]
    assert {(r["rule"], r["k"]) for r in rows} == {("normalised", 8)}
    for r in rows:
        assert r["n"] == (24 if r["label"] == "all" else 12)
        assert r["accuracy_interval"] == [None, None]  # of 12 inputs
    assert rows[0]["accuracy"] == 0.5  # unguided, both labels are asked of the same texts
    samples = read_examples(tmp_path / "first/samples.jsonl")
    assert len(samples) == 48
    keys = {(e.system, e.label) for e in samples}
    of = {key: [e.text for e in samples if (e.system, e.label) == key] for key in keys}
    assert of["normalised 0 k=8", "positive"] == of["normalised 0 k=8", "negative"]
    assert of["normalised 4 k=8", "positive"] != of["normalised 0 k=8", "positive"]
    assert all(e.prefix and e.text.startswith(e.prefix) for e in samples)
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", "guide_negative", "guide_positive", "judge_positive"}
    writer = CausalLM.from_pretrained(str(tmp_path / "first/models/generator"))
    guide = load_guide(str(tmp_path / "first/models/guide_positive"))
    (text,) = judge.steer(writer, guide, ["The food"], k=8, new_tokens=2).found
    assert len(text.guided) == 2


def test_topics_by_the_exact_guide_and_a_generator_by_its_folder(finish: Run, tmp_path: Path, lm: CausalLM) -> None:
    lm.save_pretrained(tmp_path / "writer")
    settings = [s for s in TOY if "generator" not in s]
    more = (f"generator={tmp_path}/writer", "model.dtype=bfloat16", "rule=fudge", "labels=[science,politics]")
    bilstm = (*(f"model.guides.bilstm.build.{name}_dim=8" for name in ("embedding", "hidden")), "guide=bilstm")
    few = ("model.guides.bilstm.training.epochs=1", "model.guides.bilstm.prefixes=2")
    command = ("+exp=guided_text", "data=builtin_news", *settings, *more, *SMALL.split(), *bilstm, *few)
    rows = finish(*command, "sampling.prompts=[the cat,a dog]", folder="run", plots=False)["table"]
    assert [r["label"] for r in rows] == ["all", "all", *["science", "politics"] * 2]
    assert {r["rule"] for r in rows} == {"fudge"}
    assert {path.name for path in (tmp_path / "run/models").iterdir()} == {
        "guide_science",
        "guide_politics",
        *(f"judge_{label}" for label in ("computers", "politics", "religion", "science")),
    }


def test_judges_are_above_chance_or_not() -> None:
    wanted = ["a"] * 90 + ["b"] * 10
    assert not is_above_chance(wanted, ["a"] * 100, 2)  # right 90 times of 100
    assert is_above_chance(wanted, ["a"] * 81 + ["b"] * 9 + ["a"] + ["b"] * 9, 2)
    assert not is_above_chance(["a", "b"], ["b", "a"], 2)
    assert is_above_chance(["a"] * 30, ["a"] * 29 + ["b"], 2)
    assert not is_above_chance(["a"] * 30, ["a"] * 15 + ["b"] * 15, 2)
