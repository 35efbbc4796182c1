"""Reading texts: joining, windows, counts of what was cut, bad input."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discriminators.segments import TokenFrame, pack_segments, read
from models.batching import join_ids


class Letters:
    """Each letter is its code point; 1 starts, 2 separates and ends, 0 pads."""

    def __init__(self, max_length: int):
        self.layout = TokenFrame((1,), 2, (2,), 0, max_length)

    def encode(self, segments):
        return [[ord(c) for c in s] for s in segments]


def spelled(row) -> str:
    return "".join({0: "_", 1: "<", 2: "|"}.get(i, chr(i)) for i in row.ids)


def test_segments_are_framed_and_separated():
    rows, dropped = read([("ab", " c \n d"), ("e",)], Letters(20))
    assert [spelled(r) for r in rows] == ["<ab|c d|", "<e|"]
    assert [(r.text, r.weight) for r in rows] == [(0, 1.0), (1, 1.0)]
    assert dropped.tolist() == [0, 0]


def test_a_text_without_tokens_has_no_row_where_it_may_be_skipped():
    texts = [("a", ""), ("", " \n"), (), ("b",)]
    rows, dropped = read(texts, Letters(6), skip_empty=True)
    assert [(r.text, spelled(r)) for r in rows] == [(0, "<a||"), (3, "<b|")]
    assert dropped.tolist() == [0, 0, 0, 0]


def test_windows_are_whole_segments_weighted_by_their_tokens(caplog: pytest.LogCaptureFixture):
    rows, dropped = read([("ab", "c", "de", "f")], Letters(6))
    assert [spelled(r) for r in rows] == ["<ab|c|", "<de|f|"]
    assert [r.weight for r in rows] == [0.5, 0.5]
    with caplog.at_level(logging.WARNING):
        rows, dropped = read([("abcdef", "g")], Letters(6))
    assert [spelled(r) for r in rows] == ["<abcd|", "<g|"]
    assert [r.weight for r in rows] == [0.8, 0.2]
    assert dropped.tolist() == [2]
    assert "1 of 1 texts lost tokens (2 in all)" in caplog.text


def test_a_window_is_negative_only_if_it_was_redrawn():
    positive, negative = ("ab", "c", "de", "f"), ("ab", "c", "xyz", "f")
    rows, dropped = read([positive, negative, ("ab", "c")], Letters(6), [negative, positive, None])
    assert [(spelled(r), r.text, r.weight) for r in rows] == [("<de|", 0, 1.0), ("<xyz|", 1, 1.0), ("<ab|c|", 2, 1.0)]
    assert dropped.tolist() == [0, 0, 0]


def test_the_sides_of_a_pair_are_cut_alike():
    short, long = ("a", "b", "c"), ("a", "bxyz", "c")
    rows, _ = read([short, long], Letters(8), [long, short])
    assert [spelled(r) for r in rows] == ["<a|b|", "<a|bxyz|"]  # alone the short one would fit as a whole


@given(st.lists(st.lists(st.integers(3, 9), max_size=9), min_size=1, max_size=8), st.integers(1, 8))
def test_windows_keep_every_token_that_is_not_counted(segments: list[list[int]], room: int):
    packed, dropped = pack_segments(segments, separator=1, room=room)
    assert all(len(p) <= room for p in packed)
    kept = [i for p in packed for i in p if i != 1]
    assert kept == [i for s in segments for i in s[:room]]
    assert dropped + len(kept) == sum(map(len, segments))
    if len(joined := join_ids(segments, 1)) <= room:
        assert packed == [joined]


@pytest.mark.parametrize(
    ("texts", "max_length", "message"),
    [
        ([("a",), (" ", "\n")], 9, "at least one token, but text 1 has none"),
        ([()], 9, "at least one token, but text 0"),
        (["abc"], 9, "text 0 is a string"),
        ([("a",)], 2, "max_length must leave room"),
    ],
)
def test_texts_that_cannot_be_read(texts: list, max_length: int, message: str):
    with pytest.raises(ValueError, match=message):
        read(texts, Letters(max_length))
