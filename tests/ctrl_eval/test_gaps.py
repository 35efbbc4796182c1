"""Training gaps: the pieces put the text together again, every kind of gap occurs, long texts are left out."""

import random
import re

from ctrl_eval.gaps import choose_gap, gap_tasks
from models.infilling import sentinel_infilling
from models.tiny import TinyT5

TEXT = "The camera is small. It takes sharp pictures, even at night! I would buy it again. "
PLAN = TinyT5(400, 16, 32, 2, 1, 1)


def split(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[.!?])\s+", text) if s]


def test_every_kind_of_gap_occurs_and_none_is_blank() -> None:
    gaps = {choose_gap(TEXT, random.Random(seed), split) for seed in range(2000)}
    removed = {TEXT[start:end] for start, end in gaps}
    assert all(gap == gap.strip() and re.search(r"\w", gap) for gap in removed)
    assert set(split(TEXT)) <= removed  # whole sentences
    assert {TEXT[:3], TEXT[:10], TEXT[:13]} <= removed  # beginnings: The; The camera; The camera is
    assert TEXT[4:].strip() in removed  # the rest
    assert {"sharp", "pictures, even", "at night"} <= removed  # words


def test_tasks_put_the_text_together_again_and_are_the_same_for_a_seed() -> None:
    lm = PLAN.build([TEXT], (), seed=0)
    infilling = sentinel_infilling(lm.tokenizer)
    tasks = gap_tasks(lm, infilling, [TEXT] * 40, seed=3, split=split)
    assert len(tasks) == 40
    for task in tasks:
        before, after = split_at(list(task.source), infilling.mask[0])
        gap = list(task.target)[len(infilling.before) : -len(infilling.after)]
        assert task.given == len(infilling.before)
        assert lm.tokenizer.decode([*before, *gap, *after]) == TEXT
    assert tasks == gap_tasks(lm, infilling, [TEXT] * 40, seed=3, split=split)
    assert tasks != gap_tasks(lm, infilling, [TEXT] * 40, seed=4, split=split)


def test_texts_that_do_not_fit_are_left_out() -> None:
    lm = PLAN.build([TEXT], (), seed=0)
    lm.tokenizer.model_max_length = 12
    infilling = sentinel_infilling(lm.tokenizer)
    tasks = gap_tasks(lm, infilling, ["Yes.", TEXT * 3], seed=0, split=split)
    assert [lm.tokenizer.decode([t for t in task.source if t not in infilling.mask]) for task in tasks] == ["."]


def split_at(ids: list[int], mask: int) -> tuple[list[int], list[int]]:
    return ids[: ids.index(mask)], ids[ids.index(mask) + 1 :]


def test_label_words_are_removed_more_often_than_chance() -> None:
    text = "The lens is sharp. It was good."
    rng = random.Random(0)
    spans = [choose_gap(text, rng, split, ["good", "bad"]) for _ in range(500)]
    share = sum(text[start:end] == "good" for start, end in spans) / len(spans)
    assert 0.3 < share < 0.45  # about a third, and some of the words at random
    without = [choose_gap(text, rng, split) for _ in range(500)]
    assert sum(text[start:end] == "good" for start, end in without) / len(without) < 0.1


def test_the_kinds_of_gaps_are_chosen_by_weight() -> None:
    gaps = {choose_gap(TEXT, random.Random(seed), split, kinds={"sentence": 1, "rest": 0}) for seed in range(200)}
    assert {TEXT[start:end] for start, end in gaps} == set(split(TEXT))
