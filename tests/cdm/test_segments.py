"""Source and target put the dialogue together again; windows keep whole turns and count what fell out."""

import random
from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdm.infilling import Pair
from cdm.segments import (
    Gap,
    Strategy,
    draw_content_gap,
    draw_gap,
    fill,
    is_content,
    make_task,
    manipulations,
    training_gap,
)
from models.batching import join_ids
from models.families import AFTER, BEFORE, T5
from models.infilling import Infilling

INFILLING = Infilling(
    T5,
    (BEFORE, 1, AFTER),
    opening=(1,),
    closing=(2,),
)
SEPARATOR = (3,)
turns_strategy = st.lists(st.lists(st.integers(10, 99), max_size=8), min_size=1, max_size=8).filter(
    lambda turns: any(turns)
)


def as_words(turns: list[list[int]]) -> list[list[str]]:
    """The turns as the vocabulary writes them, every token a word."""
    return [[f"Ġ{token}" for token in turn] for turn in turns]


@given(turns_strategy, st.integers(0, 10**6), st.booleans())
def test_source_and_segment_put_the_dialogue_together_again(turns: list[list[int]], seed: int, utterance: bool) -> None:
    gap = draw_gap(as_words(turns), random.Random(seed), utterance=utterance)
    task = make_task(
        turns,
        gap,
        INFILLING,
        SEPARATOR,
        max_length=1000,
    )
    assert task.dropped == 0
    at = task.source.index(1)
    assert [*task.source[:at], *task.segment, *task.source[at + 1 :]] == join_ids(turns, SEPARATOR)
    assert len(task.segment) >= 1
    assert fill(turns, gap, task.segment) == turns
    if utterance:
        assert list(task.segment) == turns[gap.turn]


@given(turns_strategy, st.integers(0, 10**6), st.integers(1, 40))
def test_windows_fit_and_what_fell_out_is_counted(turns: list[list[int]], seed: int, max_length: int) -> None:
    gap = draw_gap(as_words(turns), random.Random(seed), utterance=False)
    task = make_task(
        turns,
        gap,
        INFILLING,
        SEPARATOR,
        max_length,
    )
    assert len(task.source) <= max_length
    assert task.source.count(1) == 1
    whole = len(join_ids(fill(turns, gap, INFILLING.marks), SEPARATOR))
    assert len(task.source) + task.dropped == whole
    if len(task.source) < max_length - 8:  # no turn is longer: another one would have fitted
        assert task.dropped == 0


def test_of_a_giant_turn_the_tokens_around_the_gap_stay() -> None:
    turn = list(range(100, 150))
    task = make_task(
        [turn, [7]],
        Gap(0, 20, 22),
        INFILLING,
        SEPARATOR,
        max_length=7,
    )
    assert task.source == (117, 118, 119, 1, 122, 123, 124)
    assert task.segment == (120, 121)
    assert task.dropped == 48 - 6 + 2
    left = make_task(
        [turn],
        Gap(0, 0, 1),
        INFILLING,
        SEPARATOR,
        max_length=4,
    )
    assert left.source == (1, 101, 102, 103)
    right = make_task(
        [turn],
        Gap(0, 49, 50),
        INFILLING,
        SEPARATOR,
        max_length=4,
    )
    assert right.source == (146, 147, 148, 1)


def test_a_third_of_training_gaps_are_whole_utterances() -> None:
    rng = random.Random(0)
    turns = [list(range(10, 40)), list(range(40, 70))]
    whole = sum((gap := training_gap(as_words(turns), rng)).stop - gap.start == 30 for _ in range(3000))
    assert whole == pytest.approx(1000, abs=90)  # a segment has 20 tokens at most


def test_strategies() -> None:
    rng = random.Random(0)
    assert manipulations("segment-single", rng) == ["segment"]
    assert manipulations("utterance-single", rng) == ["utterance"]
    assert set(manipulations("content-multi", rng)) == {"content"}
    single = Counter(tuple(manipulations("mixed-single", rng)) for _ in range(1000))
    assert set(single) == {("utterance",), ("segment",)}
    assert single[("utterance",)] == pytest.approx(500, abs=60)
    times = Counter(len(manipulations("mixed-multi", rng)) for _ in range(4000))
    assert sorted(times) == [1, 2, 3, 4]
    assert all(count == pytest.approx(1000, abs=110) for count in times.values())
    assert set(manipulations("amr-multi", rng)) == {"amr"}
    assert len(get_args(Strategy)) == 6
    with pytest.raises(ValueError, match="amr-single"):
        manipulations("amr-single", rng)  # pyright: ignore[reportArgumentType]


def test_a_gap_cuts_no_word_but_longer_ones_than_a_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdm.segments.LONGEST_SEGMENT", 4)
    words = [["Ġx" if i in (0, 2, 3, 9) else "x" for i in range(10)]]  # (0, 2), (2, 3), (3, 9), (9, 10)
    gaps = {draw_gap(words, random.Random(i)) for i in range(400)}
    inside = {(start, stop) for start in range(3, 9) for stop in range(start + 1, min(9, start + 4) + 1)}
    beside = {(0, 2), (2, 3), (0, 3), (9, 10)}
    across = {(0, 4), (2, 4), (2, 5), (2, 6), (8, 10), (7, 10), (6, 10)}
    assert {(gap.start, gap.stop) for gap in gaps} == inside | beside | across
    with pytest.raises(ValueError, match="a gap needs a dialogue with at least one token"):
        draw_gap([["Ġx"], []], random.Random(0), prompt_turns=1)


def test_a_gap_holds_a_content_word_and_whole_words_around_it(pair: Pair, dialogues: list[tuple[str, ...]]) -> None:
    tokenised = pair.tokenise(dialogues)
    for i, turns in enumerate(tokenised.dialogues):
        gap = draw_content_gap(tokenised.to_pieces(turns), random.Random(i), prompt_turns=1)
        assert gap is not None
        assert gap.turn >= 1
        turn = list(turns[gap.turn])
        text, part = pair.amateur.tokenizer.batch_decode([turn, turn[gap.start : gap.stop]])
        words = part.split()
        assert 1 <= len(words) <= 5
        assert set(words) <= set(text.split())
        assert any(is_content(word) for word in words)
    assert draw_content_gap([["Ġhi"], ["Ġof", "Ġthe"], []], random.Random(0), prompt_turns=1) is None
