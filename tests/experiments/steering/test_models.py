"""The models of guided decoding: texts of one part alone, labels, judges, folders; its table."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from core.errors import InputError
from core.example import Example
from data.corpus import Corpus
from data.sets.builtin import builtin_corpus
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide
from discriminators.texts import split_by_group
from experiments.steering.experiment import judge_held_out
from experiments.steering.models import SteeringPlan, find_labels, label_texts, name_file, split_parts
from experiments.steering.tables import SteeredText, describe_guidance, tabulate
from experiments.training import LanguageModelPlan

NOTHING: Any = None
TRAINED = SteeringPlan(LanguageModelPlan(NOTHING, NOTHING, NOTHING), NOTHING, NOTHING)
PRETRAINED = SteeringPlan("gpt2", NOTHING, NOTHING)


def test_no_text_is_learned_by_two_parts() -> None:
    data = builtin_corpus("builtin_reviews", train=120, held_out=4, rated=8, verdicts=0.5)
    found = split_parts(data, TRAINED, seed=0)
    sides = [{e.text for e in side} for side in (found.generator, found.guide, found.judge)]
    assert [len(side) for side in sides] == [60, 30, 30]
    assert len(set.union(*sides)) == 120
    pretrained = split_parts(data, PRETRAINED, seed=0)
    assert [len(side) for side in (pretrained.generator, pretrained.guide, pretrained.judge)] == [0, 60, 60]


def test_too_few_texts_of_a_label_are_reported_with_their_numbers(own_data: Callable[..., Corpus]) -> None:
    rare = [f"rare {i}" for i in range(9)]
    data = own_data([*map(str, range(200)), *rare, *rare], ["frequent"] * 200 + ["rare"] * 18)  # each stands twice
    with pytest.raises(InputError, match="at least 10 different texts of a label, but of the 9 of 'rare'") as found:
        split_parts(data, PRETRAINED, seed=0)
    (fault,) = found.value.faults
    assert sum(map(int, re.findall(r"(\d+) (?:are )?for", fault))) == 9


def test_a_label_has_as_many_different_texts_as_the_others_together(own_data: Callable[..., Corpus]) -> None:
    data = own_data([f"{i % 40}" for i in range(80)], ["abcd"[i % 4] for i in range(80)])  # each text stands twice
    texts = label_texts(data.train, "a", most=14, seed=0)
    assert [t.label for t in texts] == [1] * 7 + [0] * 7
    assert all((int(t.segments[0]) % 4 == 0) == (t.label == 1) for t in texts)
    assert len({t.segments for t in texts}) == 14
    assert len(label_texts(data.train, "a", most=1000, seed=0)) == 20
    for seed in range(20):
        _, held_out = split_by_group(texts, 0.1, seed)
        assert sorted(t.label for t in held_out) == [0, 1]


def test_folders_are_named_after_any_label() -> None:
    labels = ["positive", "体育", "sci/tech", "sci_tech", "../..", ".", "x" * 300, "x" * 299, "a\x00b", "👍"]
    names = [name_file(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,47}", name) for name in names)
    assert names[0] == labels[0]


def judge(*logits: float) -> Discriminator:
    return cast(Discriminator, SimpleNamespace(logits=lambda texts: (np.array(logits), np.zeros(len(logits)))))


def test_the_label_of_a_text_is_that_of_the_highest_logit() -> None:
    assert find_labels(("bad", "good"), {"good": judge(-0.5, 0.5)}, ["a", "b"]) == ["bad", "good"]
    three = {"a": judge(1.0, -3.0), "b": judge(2.0, -1.0), "c": judge(0.0, -2.0)}
    assert find_labels(("a", "b", "c"), three, ["x", "y"]) == ["b", "b"]


@pytest.mark.parametrize(
    ("wanted", "logits", "is_known"),
    [
        ("good good", (1.0, 1.0), False),  # a single label
        ("good bad good bad", (-1.0, 1.0, 1.0, -1.0), False),  # not above chance
        ("good bad " * 8, (1.0, -1.0) * 8, True),
        ("", (), True),
    ],
)
def test_judges_and_guides_are_tried_on_held_out_texts(
    guide: CausalGuide, wanted: str, logits: tuple[float, ...], is_known: bool
) -> None:
    texts = tuple(Example(str(i), text="the cat", label=label) for i, label in enumerate(wanted.split()))
    judges = partial(find_labels, ("bad", "good"), {"good": judge(*logits)})
    figures, found = judge_held_out(Corpus("own", (), texts, (), synthetic=False), judges, {"good": guide})
    assert found == is_known
    if not texts:
        assert figures == {}
        return
    right = [(logit > 0) == (label == "good") for logit, label in zip(logits, wanted.split(), strict=True)]
    assert figures["judges' accuracy on held-out texts"] == sum(right) / len(right)
    assert figures["accuracy of the guide to good on held-out texts"] in (0.0, 0.5, 1.0)  # one text, one guess


def steered(label: str, hits: Sequence[float], nll: Sequence[float], words: Sequence[str]) -> list[SteeredText]:
    """Two prompts with two seeds."""
    found = []
    for number, (hit, nats, said) in enumerate(zip(hits, nll, words, strict=True)):
        ids = (0,) * (4 if number == 3 else 2)
        drawn = SteeredText(label, 2.0, 8, number % 2, number // 2, "x", ids)
        found.append(replace(drawn, words=tuple(said.split()), is_hit=bool(hit), nll=nats))
    return found


def test_a_row_by_hand() -> None:
    good = steered("good", [1, 1, 0, 1], [2.0, 2.0, 2.0, 4.0], ["a b", "a b", "a b", "a c d e"])
    bad = steered("bad", [0, 0, 0, 0], [4.0, 4.0, 4.0, 8.0], ["a a", "a a", "a a", "a a a a"])
    everything, found, _ = tabulate([*good, *bad], {(2.0, 8): 1.05}, "fudge").to_json()
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert (found["accuracy"], found["tokens"], found["overhead"]) == (0.75, 2.5, 1.05)
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()


HALF = [0.0, 1.0] * 20


def texts_of(guided: Sequence[float], plain: Sequence[float]) -> list[SteeredText]:
    """A text for each hit, at strengths 0 and 4 and two ks; those of the smaller k say nothing."""
    nothing = [0.0] * len(plain)
    settings = [
        (0.0, 8, nothing, 1.0),
        (4.0, 8, nothing, 1.0),
        (0.0, 32, plain, np.log(2)),
        (4.0, 32, guided, np.log(3)),
    ]
    found = []
    for strength, k, hits, nll in settings:
        for prompt, hit in enumerate(hits):
            drawn = SteeredText("good", strength, k, prompt, 0, "x", (0,))
            found.append(replace(drawn, words=("x",), is_hit=bool(hit), nll=nll))
    return found


@pytest.mark.parametrize(
    ("guided", "plain", "sentence"),
    [
        ([0.0, 1.0, 1.0, 1.0] * 10, HALF, "raises the share of wanted labels by 0.250 ["),
        (HALF, [0.0, 1.0, 1.0, 1.0] * 10, "lowers the share of wanted labels by 0.250 ["),
        ([1.0, 0.0] * 20, HALF, "is not shown to change the share of wanted labels (from 0.50 to 0.50)"),
        ([1.0, 1.0], [0.0, 1.0], "takes the share of wanted labels from 0.50 to 1.00, without an interval: an"),
    ],
)
def test_the_headline_says_what_the_strongest_guidance_does(
    guided: list[float], plain: list[float], sentence: str
) -> None:
    headline = describe_guidance(texts_of(guided, plain), are_judges_known=True)
    assert headline.startswith(f"Guidance of strength 4 at k 32 {sentence}")
    if "raises" in sentence:
        assert headline.endswith("from 0.50 to 0.75; perplexity goes from 2.0 to 3.0")


def test_the_headline_says_nothing_where_it_knows_nothing() -> None:
    unknown = describe_guidance(texts_of(HALF, HALF), are_judges_known=False)
    assert unknown == (
        "No verdict on guidance of strength 4 at k 32: the judges are not shown to tell the labels apart"
    )
    plain = [setting for setting in texts_of(HALF, HALF) if setting.strength == 0]
    assert describe_guidance(plain, are_judges_known=True) == ""
