"""The models of guided decoding: texts of one part alone, labels, judges, folders; its table."""

import re
from collections.abc import Callable, Sequence
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
from experiments.steering.models import LabelJudges, SteeringPlan, label_texts, name_file, split_parts
from experiments.steering.tables import SteeredSetting, SteeredTexts, describe_guidance, steering_row
from experiments.training import LanguageModelPlan
from report.tables import Table

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
    frequent, rare = [f"text {i}" for i in range(200)], [f"rare {i}" for i in range(9)]
    data = own_data([*frequent, *rare, *rare], ["frequent"] * 200 + ["rare"] * 18)  # each rare one stands twice
    with pytest.raises(InputError) as found:
        split_parts(data, PRETRAINED, seed=0)
    (fault,) = found.value.faults
    assert "at least 10 different texts of a label, but of the 9 of 'rare'" in fault
    assert sum(map(int, re.findall(r"(\d+) (?:are )?for", fault))) == 9


def test_a_label_has_as_many_texts_as_the_others_together() -> None:
    data = builtin_corpus("builtin_news", train=80, held_out=4, rated=8, verdicts=0.5)
    texts = label_texts(data.train, "science", most=30, seed=0)
    assert [t.label for t in texts] == [1] * 15 + [0] * 15
    labels = {e.text: e.label for e in data.train}
    assert all((labels[t.segments[0]] == "science") == (t.label == 1) for t in texts)
    assert len({labels[t.segments[0]] for t in texts}) == 4
    assert len(label_texts(data.train, "science", most=1000, seed=0)) == 40


def test_few_texts_are_validated_on_both_classes_and_repeated_ones_count_once(
    own_data: Callable[..., Corpus],
) -> None:
    data = own_data([f"text {i % 24}" for i in range(48)], ["a" if i % 24 < 12 else "b" for i in range(48)])
    texts = label_texts(data.train, "a", most=1000, seed=0)
    assert sorted(t.segments[0] for t in texts) == sorted(f"text {i}" for i in range(24))
    for seed in range(50):
        _, held_out = split_by_group(texts, 0.1, seed)
        assert sorted(t.label for t in held_out) == [0, 0, 1, 1]


def test_folders_are_named_after_any_label() -> None:
    labels = ["positive", "体育", "sci/tech", "sci_tech", "../..", ".", "x" * 300, "x" * 299, "a\x00b", "👍"]
    names = [name_file(label) for label in labels]
    assert len(set(names)) == len(labels)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,47}", name) for name in names)
    assert names[0] == labels[0]


def judge(*logits: float) -> Discriminator:
    return cast(Discriminator, SimpleNamespace(logits=lambda texts: (np.array(logits), np.zeros(len(logits)))))


def test_the_label_of_a_text_is_that_of_the_highest_logit() -> None:
    assert LabelJudges(("bad", "good"), {"good": judge(-0.5, 0.5)}).find_labels(["a", "b"]) == ["bad", "good"]
    three = {"a": judge(1.0, -3.0), "b": judge(2.0, -1.0), "c": judge(0.0, -2.0)}
    assert LabelJudges(("a", "b", "c"), three).find_labels(["x", "y"]) == ["b", "b"]


@pytest.mark.parametrize(
    ("wanted", "logits", "note"),
    [
        ("good good", (1.0, 1.0), "the 2 held-out texts have a single label, good"),
        ("good bad good bad", (-1.0, 1.0, 1.0, -1.0), "on 4 held-out texts the judges are not above chance"),
        ("good bad " * 8, (1.0, -1.0) * 8, None),
        ("", (), None),
    ],
)
def test_judges_are_tried_on_held_out_texts(wanted: str, logits: tuple[float, ...], note: str | None) -> None:
    texts = tuple(Example(str(i), text="A text.", label=label) for i, label in enumerate(wanted.split()))
    judges = LabelJudges(("bad", "good"), {"good": judge(*logits)})
    trial = judge_held_out(Corpus("own", (), texts, (), synthetic=False), judges, {})
    right = [(logit > 0) == (label == "good") for logit, label in zip(logits, wanted.split(), strict=True)]
    assert trial.figures == ({"judges' accuracy on held-out texts": sum(right) / len(right)} if right else {})
    assert [said.startswith(note or "") for said in trial.notes] == ([] if note is None else [True])
    assert trial.are_judges_known == (note is None)


def test_a_guide_that_learned_nothing_is_named(guide: CausalGuide) -> None:
    texts = tuple(Example(str(i), text="the cat", label=label) for i, label in enumerate(("bad", "good") * 8))
    judges = LabelJudges(("bad", "good"), {"good": judge(*(-1.0, 1.0) * 8)})
    trial = judge_held_out(Corpus("own", (), texts, (), synthetic=False), judges, {"good": guide})
    assert trial.figures["accuracy of the guide to good on held-out texts"] == 0.5
    assert trial.notes == ["on 16 held-out texts the guide to good is not above chance: train it on more"]


def steered(label: str, hits: Sequence[float], nll: Sequence[float], words: Sequence[str]) -> SteeredTexts:
    return SteeredTexts(
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
    setting = SteeredSetting(2.0, 8, (good, bad), 1.05)
    (found,) = Table("", "", [steering_row(setting, "good", [good], "fudge")]).to_json()
    assert (found["label"], found["strength"], found["k"], found["n"]) == ("good", 2.0, 8, 4)
    assert (found["accuracy"], found["tokens"]) == (0.75, 2.5)
    assert found["perplexity"] == pytest.approx(np.e)  # a nat a token
    assert found["distinct_1"] == pytest.approx((2 / 4 + 5 / 6) / 2)  # by seed
    assert found["distinct_2"] == pytest.approx((1 / 2 + 4 / 4) / 2)
    assert (found["seeds"], found["by_seed"]["accuracy"]) == ([0, 1], [1.0, 0.5])
    (everything,) = Table("", "", [steering_row(setting, "all", setting.texts, "fudge")]).to_json()
    assert (everything["label"], everything["n"], everything["accuracy"]) == ("all", 8, 0.375)
    assert everything["perplexity"] == pytest.approx(np.exp(30 / 20))
    assert everything.keys() == found.keys()


def settings_of(guided: Sequence[float], plain: Sequence[float]) -> list[SteeredSetting]:
    """A text for each hit, at strengths 0 and 4 and two ks; those of the smaller k say nothing."""

    def texts(hits: Sequence[float], nll: float) -> SteeredTexts:
        count = len(hits)
        prompts = np.arange(count)
        ones = np.ones(count)
        return SteeredTexts(
            label="good",
            prompts=prompts,
            seeds=np.zeros(count, dtype=np.intp),
            texts=("x",) * count,
            words=(("x",),) * count,
            hits=np.array(hits),
            nll=nll * ones,
            tokens=ones,
        )

    nothing = [0.0] * len(plain)
    return [
        SteeredSetting(0.0, 8, (texts(nothing, 1.0),), 1.0),
        SteeredSetting(4.0, 8, (texts(nothing, 1.0),), 1.0),
        SteeredSetting(0.0, 32, (texts(plain, np.log(2)),), 1.0),
        SteeredSetting(4.0, 32, (texts(guided, np.log(3)),), 1.0),
    ]


HALF = [0.0, 1.0] * 20


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
    headline = describe_guidance(settings_of(guided, plain), are_judges_known=True)
    assert headline.startswith(f"Guidance of strength 4 at k 32 {sentence}")
    if "raises" in sentence:
        assert headline.endswith("from 0.50 to 0.75; perplexity goes from 2.0 to 3.0")


def test_the_headline_says_nothing_where_it_knows_nothing() -> None:
    unknown = describe_guidance(settings_of(HALF, HALF), are_judges_known=False)
    assert unknown == (
        "No verdict on guidance of strength 4 at k 32: the judges are not shown to tell the labels apart"
    )
    plain = [setting for setting in settings_of(HALF, HALF) if setting.strength == 0]
    assert describe_guidance(plain, are_judges_known=True) == ""
