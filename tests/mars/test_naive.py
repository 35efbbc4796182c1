"""Naive augmentation: one token for each masked word, all in one pass."""

import pytest

from core.faults import ExampleFaults
from mars.masking import Blank, Kept
from mars.naive import NaiveAugmenter
from mars.references import Job
from models.masked import MaskedLM, most_likely_at_masks
from models.tiny import TinyBert

TEXTS = ["the cat sat on the mat.", "the dog ran in the park."]


@pytest.fixture(scope="module")
def lm() -> MaskedLM:
    built = TinyBert(300, 16, 2, 1, 32, max_length=24).build(TEXTS, (), seed=2)
    built.model.eval()
    return built


def test_masks_stand_where_words_stood(lm: MaskedLM) -> None:
    job = Job("A dog.", (Kept("the"), Blank(2), Kept(" sat.")))
    (found,) = NaiveAugmenter(lm).augment([job])
    ids = {text: lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("A dog.", "the", " sat.")}
    mask = lm.special("mask")
    row = lm.framed(ids["A dog."], [*ids["the"], mask, mask, *ids[" sat."]])
    (expected,) = most_likely_at_masks(lm, [row])
    assert list(found.fills[0].tokens) == expected
    assert found.text == f"the {str(lm.tokenizer.decode(expected)).strip()} sat."
    assert found.fills[0].perplexities == ()
    assert found.kl == 0


def test_context_counts_only_where_it_is_used_and_its_end_is_cut(lm: MaskedLM) -> None:
    jobs = [Job("the dog ran in the park. " * 3, (Blank(1), Kept(" sat."))), Job("", (Blank(1), Kept(" sat.")))]
    with_context, without = NaiveAugmenter(lm).augment(jobs), NaiveAugmenter(lm, use_context=False).augment(jobs)
    assert without[0] == without[1]
    assert without[0].dropped_context == 0
    assert with_context[0].dropped_context > 0
    assert with_context[1].text == without[1].text
    assert NaiveAugmenter(lm).depends != NaiveAugmenter(lm, use_context=False).depends


def test_all_references_that_are_too_long_are_named(lm: MaskedLM) -> None:
    long = Job("", (Blank(1), Kept(" the cat sat on the mat." * 4)))
    with pytest.raises(ExampleFaults, match="reads 24 tokens at once") as faults:
        NaiveAugmenter(lm).augment([long, Job("", (Blank(1),)), long])
    assert [i for i, _ in faults.value.at] == [0, 2]
