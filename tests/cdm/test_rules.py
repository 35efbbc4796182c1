"""Negatives by rules: another text of as many turns, the same for the same seed, of the turns and words they should."""

from typing import get_args

import pytest

from cdm.cues import TOLERANCE, measure_cues
from cdm.infilling import get_turns
from cdm.rules import Rule, make_rule_negatives
from data.builtin.concepts import generate_concept_sentences
from data.builtin.dialogues import generate_dialogues
from data.sets.public import load_training
from experiments.cdm.experiment import cut_dialogues


@pytest.mark.parametrize("rule", get_args(Rule))
def test_every_rule_changes_turns_and_keeps_their_number(dialogues: list[tuple[str, ...]], rule: Rule) -> None:
    found = make_rule_negatives(dialogues, rule, seed=0)
    assert make_rule_negatives(dialogues, rule, seed=0) == found
    assert make_rule_negatives(dialogues, rule, seed=1) != found
    assert found.failures < 10
    for i, positive, negative in zip(
        found.indices,
        found.positives,
        found.negatives,
        strict=True,
    ):
        assert positive == dialogues[i]
        assert positive != negative
        assert len(positive) == len(negative)


@pytest.mark.parametrize("rule", get_args(Rule))
def test_given_turns_stay_as_they_are(rule: Rule) -> None:
    texts = [example.turns for example in generate_concept_sentences(40, seed=0)]
    found = make_rule_negatives(
        [*texts, ("concepts alone",)],
        rule,
        seed=0,
        prompt_turns=1,
    )
    assert found.failures == 1
    for positive, negative in zip(found.positives, found.negatives, strict=True):
        assert positive[0] == negative[0]
        assert positive[1] != negative[1]
        assert len(negative) == 2
    if rule != "deam_like":  # another text lends its sentence, never its concepts
        assert {negative[1] for negative in found.negatives} <= {text[1] for text in texts}


@pytest.mark.parametrize("name", ["built-in", "topical_chat", "persona_chat", "daily_dialog"])
def test_no_surface_cue_tells_negatives(name: str, request: pytest.FixtureRequest) -> None:
    if name == "built-in":
        dialogues = [example.turns for example in generate_dialogues(1200, seed=0)]
    else:
        dialogues = get_turns(load_training(name, request.getfixturevalue("shared_data")))
    dialogues = cut_dialogues(dialogues, turns=6, seed=0)
    half = min(1200, len(dialogues)) // 2
    for rule in get_args(Rule):
        cues = measure_cues(make_rule_negatives(dialogues[:half], rule, seed=0), dialogues[half:])
        assert all(abs(auc - 0.5) <= TOLERANCE for auc in cues.values()), (rule, cues)


KEPT: dict[Rule, tuple[tuple[str, ...], ...]] = {
    "mesgar": (
        ("yes indeed", "they are nice people", "you have them ?", "hi there , i like cats ."),
        ("it was under your table", "thanks again friend", "no problem", "where is my book"),
    ),
    "vakulenko": (
        ("hi there , i like cats .", "they are nice people", "you have them ?", "yes indeed"),
        ("it was under your table", "no problem", "where is my book", "thanks again friend"),
    ),
    "deam_like": (
        ("hi there , i like cats have them .", "you ?", "they are nice people", "yes indeed"),
        ("where", "it was under your table", "thanks again friend is my book", "no problem"),
    ),
}


@pytest.mark.parametrize("rule", get_args(Rule))
def test_a_seed_gives_the_same_negatives_in_every_version(rule: Rule) -> None:
    dialogues = [
        ("hi there , i like cats .", "you have them ?", "they are nice people", "yes indeed"),
        ("where is my book", "it was under your table", "thanks again friend", "no problem"),
    ]
    assert make_rule_negatives(dialogues, rule, seed=3).negatives == KEPT[rule]


@pytest.mark.parametrize("rule", get_args(Rule))
def test_turns_without_blanks_are_changed(rule: Rule) -> None:
    dialogues = [(f"医生{verb}音乐？", f"孩子想念{noun}！") for verb in "爱听看" for noun in ("雨天", "城市", "苹果")]
    found = make_rule_negatives(dialogues, rule, seed=0)
    assert found.failures == 0
    assert not any(" " in turn for turns in found.negatives for turn in turns)
