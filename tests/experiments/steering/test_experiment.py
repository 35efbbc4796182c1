"""+exp=guided_text and steer through the command line, at toy size."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.example import Example
from core.faults import InputFaults, SettingFault
from data.corpus import Corpus
from data.files import read_examples, write_examples
from data.sets.attributes import builtin_reviews
from experiments.steering.experiment import (
    SteeringSettings,
    is_above_chance,
    warn_of_judges,
)
from experiments.steering.models import name_file
from models.causal import CausalLM
from oumg.generation import TextSampling, check_candidates, encode_prompts

MODELS = """
data.train=200 data.held_out=24 data.rated=16
model.generator.model.vocabulary=400 model.generator.model.n_embd=16 model.generator.model.n_layer=1
model.generator.model.n_head=2 model.generator.model.n_inner=32 model.generator.schedule.epochs=1
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


def table(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "results.json").read_text("utf-8"))["table"]


def test_sentiment_and_one_prompt_by_its_models(run: Run, tmp_path: Path) -> None:
    assert (
        run("+exp=guided_text", "data=builtin_reviews", *TOY, *SMALL.split(), f"run_dir={tmp_path}/first").returncode
        == 0
    )
    rows = table(tmp_path / "first")
    by_label = [(label, strength) for strength in (0.0, 4.0) for label in ("negative", "positive")]
    assert [(r["label"], r["strength"]) for r in rows] == [("all", 0.0), ("all", 4.0), *by_label]
    assert {(r["rule"], r["k"]) for r in rows} == {("normalised", 8)}
    for r in rows:
        assert r["n"] == (24 if r["label"] == "all" else 12)
        for name in ("accuracy", "perplexity"):
            assert r[f"{name}_interval"] == [None, None]  # of 12 inputs
        assert r["overhead"] > 0
    assert rows[0]["accuracy"] == 0.5  # unguided, both labels are asked of the same texts
    samples = read_examples(tmp_path / "first/samples.jsonl")
    assert len(samples) == 48
    by_system = {
        system: [e.text for e in samples if e.system == system and e.label == "positive"]
        for system in ("normalised 0 k=8", "normalised 4 k=8")
    }
    unsteered = [e.text for e in samples if e.system == "normalised 0 k=8" and e.label == "negative"]
    assert by_system["normalised 0 k=8"] == unsteered
    assert by_system["normalised 4 k=8"] != unsteered
    assert all(e.prefix and e.text.startswith(e.prefix) for e in samples)
    assert "positive, k 8, strength 4: " in (tmp_path / "first/samples.txt").read_text("utf-8")
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", "guide_negative", "guide_positive", "judge_positive"}
    assert {path.stem for path in (tmp_path / "first/plots").iterdir()} == {
        "accuracy_and_perplexity",
        "training_curves",
    }

    models = "generator=first/models/generator", "guide=first/models/guide_positive"
    asked = ("+exp=steer", "prompts=[The food]", "new_tokens=2", "k=8", *HERE)
    ended = run(*asked, *models, f"run_dir={tmp_path}/steered")
    assert (ended.returncode, "…The food" in ended.stdout) == (0, True)
    steps = [r for r in table(tmp_path / "steered") if "step" in r]
    assert {r["step"] for r in steps} == {1, 2}
    assert [r["chosen"] for r in steps].count("←") == 2


def test_topics_by_the_exact_guide_and_a_generator_by_its_folder(
    run_here: Callable[..., int], tmp_path: Path, lm: CausalLM, leave_out_plots: Callable[[], None]
) -> None:
    leave_out_plots()
    lm.save_pretrained(tmp_path / "writer")
    settings = [s for s in TOY if "generator" not in s]
    more = (f"generator={tmp_path}/writer", "model.dtype=bfloat16", "rule=fudge", "labels=[science,politics]")
    bilstm = (*(f"model.guides.bilstm.build.{name}_dim=8" for name in ("embedding", "hidden")), "guide=bilstm")
    few = ("model.guides.bilstm.training.epochs=1", "model.guides.bilstm.prefixes=2")
    command = ("+exp=guided_text", "data=builtin_news", *settings, *more, *SMALL.split(), *bilstm, *few)
    assert run_here(*command, "sampling.prompts=[the cat,a dog]", f"run_dir={tmp_path}/run") == 0
    rows = table(tmp_path / "run")
    assert [r["label"] for r in rows] == ["all", "all", *["science", "politics"] * 2]
    assert {r["rule"] for r in rows} == {"fudge"}
    assert {path.name for path in (tmp_path / "run/models").iterdir()} == {
        "guide_science",
        "guide_politics",
        *(f"judge_{label}" for label in ("computers", "politics", "religion", "science")),
    }


def test_own_texts(run: Run, tmp_path: Path) -> None:
    named = {"negative": "très mal/bad", "positive": "好 评"}
    reviews = sorted(builtin_reviews(train=200, held_out=1, rated=8).train, key=lambda e: str(e.label))
    file = tmp_path / "mine.csv"
    write_examples(file, [Example(e.id, text=e.text, label=named[str(e.label)]) for e in reviews])
    mine = (f"data.path={file}", *OWN)
    ended = run("+exp=guided_text", *mine, *SMALL.split(), f"run_dir={tmp_path}/first")
    assert ended.returncode == 0
    assert "mine has no prefixes, so the prompts are the first 3 words" in ended.stdout
    assert [r["label"] for r in table(tmp_path / "first")][2:4] == list(named.values())
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", *(f"guide_{name_file(x)}" for x in named.values()), f"judge_{name_file('好 评')}"}
    samples = read_examples(tmp_path / "first/samples.jsonl")
    beginnings = {e.prefix for e in samples}
    assert len(beginnings) == 3
    assert all(e.prefix and e.text.startswith(e.prefix) for e in samples)
    assert all(any(review.text.startswith(str(start)) for review in reviews) for start in beginnings)
    assert not json.loads((tmp_path / "first/results.json").read_text("utf-8"))["synthetic"]


def test_own_texts_that_will_not_do_end_before_training(run: Run, tmp_path: Path) -> None:
    reviews = builtin_reviews(train=40, held_out=1, rated=8).train
    few, broken = tmp_path / "few.jsonl", tmp_path / "broken.jsonl"
    write_examples(few, reviews)
    broken.write_text('{"text": "a", "label": ""}\n{"text": "", "label": "x"}\n')
    for path, what in (
        (few, r"guides and judges each need at least 10 different texts of a label, but of the \d+ of 'negative'"),
        (broken, r'broken\.jsonl:1: "label" is needed here'),
        (broken, r'broken\.jsonl:2: an example needs "text"'),
    ):
        ended = run("+exp=guided_text", f"data.path={path}", *OWN, *SMALL.split())
        assert ended.returncode == 2
        assert re.search(what, ended.stderr)
    assert not (tmp_path / "stages").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"strengths": (1, 2)}, "begin with 0"),
        *(({"strengths": (0, wrong)}, "strengths") for wrong in (-1.0, float("inf"), "2")),
        *(({"ks": ks}, "ks") for ks in ((8, 0), (8, 8), (), (8.5,), 8)),
        ({"labels": ("x", "x")}, "labels"),
        ({"rule": "sharp"}, "rule must be 'normalised' or 'fudge', but is 'sharp'"),
        ({"seeds": ()}, "seeds"),
        ({"inputs": 0}, "inputs must be "),
        ({"prompts": ["", "A"]}, "prompts"),
    ],
)
def test_bad_settings_are_reported(wrong: dict[str, Any], message: str) -> None:
    sampling = {"inputs": 2, "samples": 1, "new_tokens": 4, "batch_size": 4, "seeds": (0,)}
    steering = {"rule": "normalised", "strengths": (0,), "ks": (8,)}
    (name,) = wrong
    kinds = {"seeds": (TextSampling, sampling), "inputs": (TextSampling, sampling), "prompts": (TextSampling, sampling)}
    make, usual = kinds.get(name, (SteeringSettings, steering))
    with pytest.raises(ValueError, match=message):
        make(**{**usual, **wrong})


def test_what_the_generator_cannot_write_is_refused(lm: CausalLM) -> None:
    with pytest.raises(InputFaults, match="at most the 300 tokens of the generator, but is 301"):
        check_candidates([8, 301], 300)
    with pytest.raises(InputFaults, match="the generator reads 32 tokens, but this prompt has"):
        encode_prompts(lm, ["the cat"], 31)


def test_judges_are_above_chance_or_not() -> None:
    wanted = ["a"] * 90 + ["b"] * 10
    assert not is_above_chance(wanted, ["a"] * 100, 2)  # right 90 times of 100
    assert is_above_chance(wanted, ["a"] * 81 + ["b"] * 9 + ["a"] + ["b"] * 9, 2)
    assert not is_above_chance(["a", "b"], ["b", "a"], 2)
    assert is_above_chance(["a"] * 30, ["a"] * 29 + ["b"], 2)
    assert not is_above_chance(["a"] * 30, ["a"] * 15 + ["b"] * 15, 2)


def test_the_note_on_judges_is_of_all_labels_of_the_data(own_data: Callable[..., Corpus]) -> None:
    class Judges:
        def __init__(self, found: str) -> None:
            self.found = found

        def find_labels(self, texts: Sequence[str]) -> list[str]:
            return [self.found] * len(texts)

    held_out = [Example(f"h{i}", text=f"text {i}", label="x") for i in range(30)]
    data = own_data(["t", "u"], ["x", "y"], held_out)
    single = "the 30 held-out texts have a single label, x: they do not show whether the judges tell labels apart"
    for found in "xy":
        assert warn_of_judges(data, Judges(found)) == [single]  # type: ignore[arg-type]
    mixed = replace(data, held_out=tuple(replace(e, label="xy"[i % 2]) for i, e in enumerate(data.held_out)))
    assert warn_of_judges(mixed, Judges("x"))[0].startswith("on 30 held-out texts the judges are not above chance")  # type: ignore[arg-type]
    assert warn_of_judges(own_data(["t", "u"], ["x", "y"]), Judges("x")) == []  # type: ignore[arg-type]


def test_numbers_of_the_command_line_are_texts() -> None:
    several: Any = partial(SteeringSettings, "fudge", [0.0], [8])
    assert several(labels=[2.5, 1, "x"]).labels == ("2.5", "1", "x")
    for labels, message in (
        ([1, " "], r"labels\[1\] must not be blank"),
        ([True], r"labels\[0\] must be a valid string, but is True"),
        ([1, "1"], "labels must be non-empty and without duplicates"),
    ):
        with pytest.raises(SettingFault, match=message):
            several(labels=labels)
