"""Guided decoding of a causal model: its parts on toys, and +exp=guided_* through the command line at toy size."""

import copy
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from core.example import Example
from core.faults import InputFaults
from data.files import read_examples, write_examples
from data.sets.attributes import LabelledData, builtin_news, builtin_reviews
from discriminators.data_module import split_by_group
from discriminators.discriminator import Discriminator
from experiments.guided.demo import Demonstration, shown_label, step_rows
from experiments.guided.steering import (
    Sampling,
    Steering,
    check_candidates,
    continuations,
    file_name,
    judged_labels,
    label_texts,
    parts,
    prompt_ids,
    prompts_of,
)
from experiments.guided.text import Setting, Steered, above_chance, over_prompts, row, write
from experiments.run import main
from language_models.causal import CausalLM
from language_models.tiny import TinyGPT2
from oumg.causal_guide import CausalGuide, CausalLSTM
from oumg.guidance import Guidance, GuidedStep

TEXTS = ["the red cat sat on the green mat", "a dog ran over the blue hill", "the sun shone on the moon"]
SAMPLING = Sampling(inputs=3, samples=2, new_tokens=6, batch_size=4, seeds=(0, 1))
TOY = (
    "data.train=200",
    "data.held_out=24",
    "data.rated=16",
    "model.generator.model.vocabulary=400",
    "model.generator.model.n_embd=16",
    "model.generator.model.n_layer=1",
    "model.generator.model.n_head=2",
    "model.generator.model.n_inner=32",
    "model.generator.schedule.epochs=1",
    "model.guides.causal.shape.embedding_dim=8",
    "model.guides.causal.shape.hidden_dim=8",
    "model.guides.causal.training.epochs=1",
    "trainer=cpu",
    "logger=none",
)
SMALL = (
    "model.judge.build.embedding_dim=8",
    "model.judge.build.hidden_dim=8",
    "model.judge.training.epochs=1",
    "strengths=[0,4]",
    "ks=[8]",
    "sampling.inputs=3",
    "sampling.new_tokens=6",
    "sampling.batch_size=4",
)


@pytest.fixture(scope="module")
def lm() -> CausalLM:
    return TinyGPT2(vocabulary=300, n_embd=16, n_head=2, n_layer=1, n_inner=32, longest=32).build(TEXTS, (), seed=0)


@pytest.fixture(scope="module")
def guide(lm: CausalLM) -> CausalGuide:
    settings = {"vocabulary_size": len(lm.tokenizer), "embedding_dim": 8, "hidden_dim": 6, "dropout": 0.1}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = CausalLSTM(**settings).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_()
    return CausalGuide(network, lm.tokenizer, settings)


@pytest.mark.parametrize("rule", ["normalised", "fudge"])
def test_a_strength_of_0_is_the_unguided_generator_token_for_token(lm: CausalLM, guide: CausalGuide, rule: Any) -> None:
    prompts = prompt_ids(lm, ["the cat", "a", "the red cat sat on"], 6)
    steering = Steering(rule, (0, 8), (5,))
    unguided = [
        ids
        for seed in (0, 1)
        for ids in continuations(lm, prompts, samples=2, new_tokens=6, batch_size=4, seed=seed, k=5)
    ]
    assert write(lm, guide, prompts, steering, SAMPLING, 0, 5) == unguided
    steered = write(lm, guide, prompts, steering, SAMPLING, 8, 5)
    assert steered != unguided
    assert steered == write(lm, guide, prompts, steering, SAMPLING, 8, 5)
    assert len(unguided) == 2 * 3 * 2  # seeds, prompts, samples


def test_what_pads_the_prompts_changes_nothing(lm: CausalLM, guide: CausalGuide) -> None:
    tokenizer = copy.deepcopy(lm.tokenizer)
    tokenizer.pad_token = None  # as GPT-2's: its start token pads
    bare = CausalLM(lm.model, tokenizer)
    prompts = prompt_ids(bare, ["the cat", "a", "the red cat sat on"], 6)
    steering = Steering("normalised", (0, 4), (5,))
    assert write(bare, guide, prompts, steering, SAMPLING, 4, 5) == write(lm, guide, prompts, steering, SAMPLING, 4, 5)


def test_a_text_ends_with_its_end_token(lm: CausalLM) -> None:
    end = lm.tokenizer.eos_token_id
    found = continuations(lm, prompt_ids(lm, ["the"], 24), 64, 24, 64, seed=0, k=len(lm.tokenizer))
    assert any(end in ids for ids in found)
    assert all(end not in ids[:-1] for ids in found)
    assert all(ids[-1] == end or len(ids) == 24 for ids in found)


def test_a_strong_guide_moves_its_own_logit(lm: CausalLM, guide: CausalGuide) -> None:
    prompts = prompt_ids(lm, ["the cat", "a dog"], 6)
    steering = Steering("normalised", (0, 50), (20,))
    means = [
        float(np.mean(guide.logits([str(lm.tokenizer.decode(ids)) for ids in rows])))
        for rows in (write(lm, guide, prompts, steering, SAMPLING, strength, 20) for strength in (0, 50))
    ]
    assert means[1] > means[0]


def test_no_text_is_learned_by_two_parts() -> None:
    data = builtin_reviews(train=120, held_out=4, rated=8)
    found = parts(data, generator_share=0.5, seed=0)
    sides = [{e.text for e in side} for side in (found.generator, found.guide, found.judge)]
    assert [len(side) for side in sides] == [60, 30, 30]
    assert len(set.union(*sides)) == 120
    pretrained = parts(data, generator_share=0.0, seed=0)
    assert [len(side) for side in (pretrained.generator, pretrained.guide, pretrained.judge)] == [0, 60, 60]


def own(texts: Sequence[str], labels: Sequence[str], held_out: Sequence[Example] = ()) -> LabelledData:
    examples = tuple(Example(f"e{i}", text=t, label=x) for i, (t, x) in enumerate(zip(texts, labels, strict=True)))
    return LabelledData("mine", examples, tuple(held_out), (), synthetic=False, labels=tuple(sorted(set(labels))))


def test_too_few_texts_of_a_label_are_told_with_their_numbers() -> None:
    frequent, rare = [f"text {i}" for i in range(200)], [f"rare {i}" for i in range(9)]
    data = own([*frequent, *rare, *rare], ["frequent"] * 200 + ["rare"] * 18)  # each rare one stands twice
    with pytest.raises(InputFaults) as found:
        parts(data, generator_share=0.0, seed=0)
    (fault,) = found.value.faults
    assert fault.startswith(
        "guides and judges each need at least 10 different texts of a label, but of the 9 of 'rare'"
    )
    assert sum(map(int, re.findall(r"(\d+) (?:are )?for", fault))) == 9
    assert fault.endswith(
        "0 for the generator: give more texts of it, leave the label out of the file, or lower model.share"
    )


def test_a_label_has_as_many_texts_as_the_others_together() -> None:
    data = builtin_news(train=80, held_out=4, rated=8)
    texts = label_texts(data.train, "science", most=30, seed=0)
    assert [t.label for t in texts] == [1] * 15 + [0] * 15
    labels = {e.text: e.label for e in data.train}
    assert all((labels[t.segments[0]] == "science") == (t.label == 1) for t in texts)
    assert len({labels[t.segments[0]] for t in texts}) == 4
    assert len(label_texts(data.train, "science", most=1000, seed=0)) == 40


def test_few_texts_are_validated_on_both_classes_and_repeated_ones_count_once() -> None:
    data = own([f"text {i % 24}" for i in range(48)], ["a" if i % 24 < 12 else "b" for i in range(48)])
    texts = label_texts(data.train, "a", most=1000, seed=0)
    assert sorted(t.segments[0] for t in texts) == sorted(f"text {i}" for i in range(24))
    for seed in range(50):
        _, held_out = split_by_group(texts, 0.1, seed)
        assert sorted(t.label for t in held_out) == [0, 0, 1, 1]


def test_folders_are_named_after_any_label() -> None:
    labels = [
        "positive",
        "体育",
        "sci/tech",
        "sci tech",
        "sci_tech",
        "../..",
        ".",
        "x" * 300,
        "x" * 299,
        "a\x00b",
        "👍",
    ]
    names = [file_name(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,47}", name) for name in names)
    assert names[0] == labels[0]


def test_judges_are_above_chance_or_not() -> None:
    wanted = ["a"] * 90 + ["b"] * 10
    assert not above_chance(wanted, ["a"] * 100)  # right 90 times of 100
    assert above_chance(wanted, ["a"] * 81 + ["b"] * 9 + ["a"] + ["b"] * 9)
    assert not above_chance(["a", "b"], ["b", "a"])


def judge(*logits: float) -> Discriminator:
    return cast(Discriminator, SimpleNamespace(logits=lambda texts: (np.array(logits), np.zeros(len(logits)))))


def test_the_label_of_a_text_is_that_of_the_highest_logit() -> None:
    assert judged_labels({"good": judge(-0.5, 0.5)}, ("bad", "good"), ["a", "b"]) == ["bad", "good"]
    three = {"a": judge(1.0, -3.0), "b": judge(2.0, -1.0), "c": judge(0.0, -2.0)}
    assert judged_labels(three, ("a", "b", "c"), ["x", "y"]) == ["b", "b"]


def test_intervals_are_over_prompts() -> None:
    prompts = np.array([0, 0, 1, 1])
    value, (low, high) = over_prompts(np.array([1.0, 1, 0, 0]), np.ones(4), prompts, seed=0)
    assert (value, low, high) == (0.5, 0.0, 1.0)  # each prompt is all or nothing
    value, ends = over_prompts(np.array([1.0, 0, 1, 0]), np.ones(4), prompts, seed=0)
    assert (value, ends) == (0.5, (0.5, 0.5))  # prompts are alike
    value, _ = over_prompts(np.array([6.0, 2.0]), np.array([3.0, 1.0]), np.array([0, 1]), seed=0)
    assert value == 2.0  # sums, not a mean of ratios


def steered(label: str, hits: Sequence[float], nll: Sequence[float], words: Sequence[str]) -> Steered:
    return Steered(
        label,
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        ("x",) * 4,
        tuple(tuple(w.split()) for w in words),
        np.array(hits),
        np.array(nll),
        np.array([2.0, 2.0, 2.0, 4.0]),
    )


def test_a_row_by_hand() -> None:
    good = steered("good", [1, 1, 0, 1], [2.0, 2.0, 2.0, 4.0], ["a b", "a b", "a b", "a c d e"])
    bad = steered("bad", [0, 0, 0, 0], [4.0, 4.0, 4.0, 8.0], ["a a", "a a", "a a", "a a a a"])
    setting = Setting(2.0, 8, (good, bad), 1.05)
    steering, sampling = Steering("fudge", (0, 2), (8,)), Sampling(2, 1, 4, 4, (0, 1))
    found = row(setting, good, steering, sampling, seed=0)
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert found["accuracy"] == 0.75
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["tokens"] == 2.5
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert found["by_seed"]["accuracy"] == [1.0, 0.5]
    everything = row(setting, None, steering, sampling, seed=0)
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()


def test_prompts_come_from_the_settings_or_the_data() -> None:
    data = builtin_reviews(train=8, held_out=4, rated=16)
    own = Sampling(2, 1, 4, 4, (0,), prompts=[" The food ", "A", "B"])
    assert prompts_of(data, own) == ["The food", "A"]
    found = prompts_of(data, SAMPLING)
    assert len(set(found)) == 3
    assert set(found) <= {e.prefix for e in data.rated[0].examples}


def test_prompts_are_the_prefixes_or_the_beginnings_of_held_out_texts() -> None:
    held_out = [Example(f"h{i}", text=f"{word} is a word.", label="xy"[i // 3]) for i, word in enumerate("abcdef")]
    data = own(["t", "u"], ["x", "y"], [*held_out, Example("short", text="g is", label="y")])
    assert prompts_of(data, Sampling(3, 1, 4, 4, (0,), prompt_words=2)) == ["a is", "c is", "e is"]
    assert prompts_of(data, Sampling(9, 1, 4, 4, (0,), prompt_words=1)) == list("abcdefg")
    chinese = own(["t", "u"], ["x", "y"], [Example("h", text="今天天气很好。", label="x")])
    assert prompts_of(chinese, Sampling(3, 1, 4, 4, (0,))) == ["今天天"]
    prefixed = own(["t", "u"], ["x", "y"], [*held_out, Example("p", text="Once more.", prefix="Once ", label="y")])
    assert prompts_of(prefixed, Sampling(3, 1, 4, 4, (0,))) == ["Once"]
    with pytest.raises(InputFaults, match=r"mine has no held-out texts to begin as: set sampling\.prompts"):
        prompts_of(own(["t", "u"], ["x", "y"]), Sampling(3, 1, 4, 4, (0,)))


def test_bad_settings_are_told(lm: CausalLM) -> None:
    with pytest.raises(ValueError, match="begin with 0"):
        Steering("normalised", (1, 2), (8,))
    for wrong in (-1.0, float("inf"), float("nan"), 0, "2"):
        with pytest.raises(ValueError, match="strengths must be a list of finite numbers from 0 on, at least one and"):
            Steering("normalised", cast(Any, (0, wrong)), (8,))
    for ks in ((8, 0), (8, 8), (), (8.5,), 8):
        with pytest.raises(ValueError, match="ks must be a list of whole numbers from 1 on, at least one and all diff"):
            Steering("normalised", (0,), cast(Any, ks))
    for labels in ((), ("x", "x"), (1, 2), "x"):
        with pytest.raises(ValueError, match="labels must be a list of labels, in quotation marks where they are num"):
            Steering("normalised", (0,), (8,), cast(Any, labels))
    for seeds in ((), (0, 0), (-1,), 0):
        with pytest.raises(ValueError, match=r"sampling\.seeds must be a list of whole numbers from 0 to 2\*\*32 - 1"):
            Sampling(2, 1, 4, 4, cast(Any, seeds))
    for inputs in (0, 1.5, "2"):
        with pytest.raises(ValueError, match=r"sampling\.inputs must be a whole number from 1 on, but is"):
            Sampling(cast(Any, inputs), 1, 4, 4, (0,))
    with pytest.raises(ValueError, match="rule must be one of normalised, fudge"):
        Steering(cast(Any, "sharp"), (0,), (8,))
    for prompts in (["", "A"], [], ["A", "A"], [1984]):
        with pytest.raises(ValueError, match="none blank, at least one and all different"):
            Sampling(2, 1, 4, 4, (0,), prompts=cast(Any, prompts))
    with pytest.raises(InputFaults, match="at most the 300 tokens of the generator, but is 301"):
        check_candidates([8, 301], 300)
    with pytest.raises(InputFaults, match="the generator reads 32 tokens, but this prompt has"):
        prompt_ids(lm, ["the cat"], 31)
    for strength in (0.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="finite and above 0 for a guide"):
            Demonstration("The food", strength, 8, "normalised", 4, 2)


def test_a_demonstration_shows_what_guidance_does(lm: CausalLM, guide: CausalGuide) -> None:
    steps: list[GuidedStep] = []
    prompt = prompt_ids(lm, ["the cat"], 4)[0]
    guidance = Guidance(guide, lm.tokenizer, 3.0, 5, "normalised", reads="text", watch=steps.append)
    chosen = continuations(lm, [prompt], 1, 4, 1, seed=0, k=5, guidance=lambda: guidance)[0]
    rows = step_rows(lm, prompt[1:], chosen, steps, shown=5)
    assert [r["step"] for r in rows] == [n + 1 for n in range(len(chosen)) for _ in range(5)]
    assert rows[0]["written"] == "…the cat"
    for number in range(len(chosen)):
        mine = rows[5 * number : 5 * number + 5]
        assert sum(r["before"] for r in mine) == pytest.approx(1)
        assert sum(r["after"] for r in mine) == pytest.approx(1)
        assert [r["before"] for r in mine] == sorted((r["before"] for r in mine), reverse=True)
        best = max(mine, key=lambda r: r["guide"])
        worst = min(mine, key=lambda r: r["guide"])
        assert best["after"] / best["before"] == pytest.approx(np.exp(3) * worst["after"] / worst["before"], rel=1e-4)
        assert [r["chosen"] for r in mine].count("←") == 1
    fewer = step_rows(lm, prompt[1:], chosen, steps, shown=1)
    assert len(chosen) <= len(fewer) <= 3 * len(chosen)


def run(folder: Path, *arguments: str) -> int:
    """The runner in this process; the environment is put back."""
    kept = dict(os.environ)
    try:
        return main([*arguments, f"outputs={folder}"])
    finally:
        os.environ.clear()
        os.environ.update(kept)


def table(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "results.json").read_text("utf-8"))["table"]


def stages(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "stages").iterdir() if path.is_dir()}


def test_sentiment_and_a_demonstration_with_its_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "+exp=guided_sentiment", *TOY, *SMALL, f"run_dir={tmp_path}/first") == 0
    rows = table(tmp_path / "first")
    assert [(r["label"], r["strength"]) for r in rows] == [
        ("all", 0.0),
        ("all", 4.0),
        *((label, strength) for strength in (0.0, 4.0) for label in ("negative", "positive")),
    ]
    assert {(r["rule"], r["k"]) for r in rows} == {("normalised", 8)}
    for r in rows:
        assert r["n"] == (24 if r["label"] == "all" else 12)
        for name in ("accuracy", "perplexity"):
            assert r[f"{name}_interval"][0] <= r[name] <= r[f"{name}_interval"][1]
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
    assert {path.name for path in (tmp_path / "first/models").iterdir()} == {
        "generator",
        "guide_negative",
        "guide_positive",
        "judge_positive",
    }
    assert {path.stem for path in (tmp_path / "first/plots").iterdir()} == {
        "accuracy_and_perplexity",
        "training_curves",
    }

    kept = stages(tmp_path)
    demo = ("+exp=guided_demo", "prompt=The food", "new_tokens=2", "k=8", *TOY)
    assert run(tmp_path, *demo, f"run_dir={tmp_path}/demo") == 0
    assert stages(tmp_path) == kept
    shown = [r for r in table(tmp_path / "demo") if "step" in r]
    assert {r["step"] for r in shown} == {1, 2}
    assert "…The food" in capsys.readouterr().out
    models = (
        f"generator={tmp_path}/first/models/generator",
        f"guide_folder={tmp_path}/first/models/guide_positive",
    )
    assert run(tmp_path, *demo, *models, f"run_dir={tmp_path}/folders") == 0
    assert [r for r in table(tmp_path / "folders") if "step" in r] == shown


def test_topics_and_a_generator_by_its_folder(tmp_path: Path, lm: CausalLM) -> None:
    lm.save_pretrained(tmp_path / "writer")
    settings = [s for s in TOY if "generator" not in s]
    more = (f"generator={tmp_path}/writer", "rule=fudge", "labels=[science,politics]")
    command = ("+exp=guided_topic", *settings, *more, *SMALL)
    own = ("sampling.prompts=[the cat,a dog]",)
    assert run(tmp_path, *command, *own, f"run_dir={tmp_path}/run") == 0
    rows = table(tmp_path / "run")
    assert [r["label"] for r in rows] == ["all", "all", *["science", "politics"] * 2]
    assert {r["rule"] for r in rows} == {"fudge"}
    assert {path.name for path in (tmp_path / "run/models").iterdir()} == {
        "guide_science",
        "guide_politics",
        *(f"judge_{label}" for label in ("computers", "politics", "religion", "science")),
    }


def test_own_texts_and_a_demonstration_with_their_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = {"negative": "très mal/bad", "positive": "好 评"}
    reviews = sorted(builtin_reviews(train=200, held_out=1, rated=8).train, key=lambda e: str(e.label))
    file = tmp_path / "mine.csv"
    write_examples(file, [Example(e.id, text=e.text, label=named[str(e.label)]) for e in reviews])
    mine = (f"data.path={file}", *TOY[3:])
    assert run(tmp_path, "+exp=guided_text", *mine, *SMALL, f"run_dir={tmp_path}/first") == 0
    assert [r["label"] for r in table(tmp_path / "first")][2:4] == list(named.values())
    models = {path.name for path in (tmp_path / "first/models").iterdir()}
    assert models == {"generator", *(f"guide_{file_name(x)}" for x in named.values()), f"judge_{file_name('好 评')}"}
    assert "mine has no prefixes, so the prompts are the first 3 words" in capsys.readouterr().out
    samples = read_examples(tmp_path / "first/samples.jsonl")
    beginnings = {e.prefix for e in samples}
    assert len(beginnings) == 3
    assert all(e.prefix and e.text.startswith(e.prefix) for e in samples)
    assert all(any(review.text.startswith(str(start)) for review in reviews) for start in beginnings)
    assert not json.loads((tmp_path / "first/results.json").read_text("utf-8"))["synthetic"]

    kept = stages(tmp_path)
    demo = ("+exp=guided_demo", "prompt=The food", "new_tokens=2", "k=8", "logger=none", "trainer=cpu")
    of = ("data=labelled", *mine, 'label="très mal/bad"')
    assert run(tmp_path, *demo, *of, f"run_dir={tmp_path}/demo") == 0
    assert stages(tmp_path) == kept
    folders = (
        f"generator={tmp_path}/first/models/generator",
        f"guide_folder={tmp_path}/first/models/guide_{file_name('très mal/bad')}",
    )
    capsys.readouterr()
    assert run(tmp_path, *demo, *folders, f"run_dir={tmp_path}/folders") == 0
    assert "to tr_s_mal_bad-" in capsys.readouterr().out
    assert [r["chosen"] for r in table(tmp_path / "folders") if "step" in r].count("←") == 2


def test_own_texts_that_will_not_do_end_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reviews = builtin_reviews(train=40, held_out=1, rated=8).train
    few, broken = tmp_path / "few.jsonl", tmp_path / "broken.jsonl"
    write_examples(few, reviews)
    broken.write_text('{"text": "a", "label": ""}\n{"text": "", "label": "x"}\n')
    for path, what in (
        (few, r"guides and judges each need at least 10 different texts of a label, but of the \d+ of 'negative'"),
        (broken, r'broken\.jsonl:1: "label" is needed here'),
        (broken, r'broken\.jsonl:2: an example needs "text"'),
    ):
        assert run(tmp_path, "+exp=guided_text", f"data.path={path}", *TOY[3:], *SMALL) == 2
        assert re.search(what, capsys.readouterr().err)
    assert not (tmp_path / "stages").exists()


def test_the_label_of_a_guide_that_others_trained_is_that_of_its_folder() -> None:
    data = own(["t", "u"], ["x", "y"])
    assert [shown_label(data, None, folder) for folder in (None, "run/models/guide_polite")] == ["y", "polite"]
    assert [shown_label(data, "x", folder) for folder in (None, "run/models/guide_polite")] == ["x", "x"]
    with pytest.raises(InputFaults, match="label must be one of x, y, but is 'z'"):
        shown_label(data, "z", None)


def test_the_exact_guide(tmp_path: Path) -> None:
    bilstm = ("guide=bilstm", *(f"model.guides.bilstm.{name}_dim=8" for name in ("embedding", "hidden")))
    more = ("model.guides.bilstm.training.epochs=1", "model.guides.bilstm.prefixes=2", "labels=[positive]")
    assert run(tmp_path, "+exp=guided_sentiment", *TOY, *SMALL, *bilstm, *more, f"run_dir={tmp_path}/run") == 0
    assert [(r["label"], r["strength"]) for r in table(tmp_path / "run")] == [
        ("all", 0.0),
        ("all", 4.0),
        ("positive", 0.0),
        ("positive", 4.0),
    ]


def test_bad_input_ends_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for setting, what in (
        ("strengths=[0,-1]", "strengths must be a list of finite numbers from 0 on, at least one and all different"),
        ("strengths=[0,inf]", "all different, but is [0, inf]"),
        ("sampling.seeds=[0,0]", "all different, but is [0, 0]"),
        ("data.train=-1", "train must be a whole number of texts from 0 on, but is -1"),
        ("labels=[happy]", "labels must be some of negative, positive, but 'happy'"),
        ("ks=[8,401]", "k must be at most the 400 tokens of the generator, but is 401"),
        ("rule=hard", "rule must be one of normalised, fudge, but is 'hard'"),
    ):
        assert run(tmp_path, "+exp=guided_sentiment", *TOY, *SMALL, setting, f"run_dir={tmp_path}/bad") == 2
        assert what in capsys.readouterr().err
    assert not (tmp_path / "stages").exists()
