"""Training gaps: the pieces put the text together again, every kind of gap occurs, long texts are left out."""

import random
import re

import pytest

from core.errors import SettingError
from ctrl_eval.gaps import TextGaps
from ctrl_eval.prompts import Prompts
from data.sentences import split_english
from models.families import T5
from models.infilling import make_infilling
from models.tiny import TinyT5

TEXT = "The camera is small. It takes sharp pictures, even at night! I would buy it again. "
PLAN = TinyT5(400, 16, 32, 2, 1, 1)
GAPS = TextGaps(Prompts(("<text> <mask>",), ("no", "yes"), (("bad", "good"),)))


def draw(gaps: TextGaps, text: str, number: int) -> list[str]:
    """What is removed from a text."""
    spans = [gaps.choose_gap(text, random.Random(seed)) for seed in range(number)]
    return [text[start:end] for start, end in spans]


def test_every_kind_of_gap_occurs_and_none_is_blank() -> None:
    removed = {*draw(GAPS, TEXT, 2000)}
    assert all(gap == gap.strip() and re.search(r"\w", gap) for gap in removed)
    assert set(split_english(TEXT)) <= removed  # whole sentences
    assert {TEXT[:3], TEXT[:10], TEXT[:13]} <= removed  # beginnings: The; The camera; The camera is
    assert TEXT[4:].strip() in removed  # the rest
    assert {"sharp", "pictures, even", "at night"} <= removed  # words
    assert {*draw(TextGaps(GAPS.prompts, kinds={"sentence": 1, "rest": 0}), TEXT, 200)} == set(split_english(TEXT))


def test_tasks_put_the_text_together_again_and_are_the_same_for_a_seed() -> None:
    lm = PLAN.build([TEXT], (), seed=0)
    infilling, draw_tasks = make_infilling(T5, lm.tokenizer), GAPS.tasks(lm, [TEXT] * 40)
    tasks = draw_tasks(3)
    assert len(tasks) == 40
    for task in tasks:
        source, at = list(task.source), list(task.source).index(infilling.marks[0])
        gap = list(task.target)[len(infilling.opening) : -len(infilling.closing)]
        assert task.given == len(infilling.opening)
        assert lm.tokenizer.decode([*source[:at], *gap, *source[at + 1 :]]) == TEXT
    assert tasks == draw_tasks(3)
    assert tasks != draw_tasks(4)
    lm.tokenizer.model_max_length = 12
    tasks = GAPS.tasks(lm, ["Yes.", TEXT * 3, "?! ..."])(0)
    assert [lm.tokenizer.decode([t for t in task.source if t not in infilling.marks]) for task in tasks] == ["."]
    with pytest.raises(SettingError, match="in texts with words, but no text has a word: choose other data"):
        GAPS.tasks(lm, ["?! ..."])


def test_label_words_are_removed_more_often_than_chance() -> None:
    removed = draw(GAPS, "The lens is sharp. It was good.", 500)
    assert 0.3 < removed.count("good") / 500 < 0.45  # about a third, and some of the words at random
    without = draw(TextGaps(GAPS.prompts, label_share=0), "The lens is sharp. It was good.", 500)
    assert without.count("good") / 500 < 0.1
