"""Reading texts to learn: joining, windows, counts of what was cut, the split by group, prefixes, bad input."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discriminators.segments import TokenFrame, pack_segments, read
from discriminators.texts import LabelledText, prefix_texts, split_by_group
from models.batching import join_ids


class Letters:
    """Each letter is its code point; 1 starts, 2 separates and ends, 0 pads."""

    def __init__(self, max_length: int):
        self.layout = TokenFrame(
            (1,),
            2,
            (2,),
            0,
            max_length,
        )

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
    if len(joined := join_ids(segments, [1])) <= room:
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


def test_split_keeps_groups_together():
    texts = [LabelledText((f"t{i}",), i % 2, f"g{i // 4}") for i in range(80)]
    train, held_out = split_by_group(texts, 0.25, seed=1)
    assert not {t.group for t in train} & {t.group for t in held_out}
    assert len(held_out) == 20
    assert {t.segments for t in train} | {t.segments for t in held_out} == {t.segments for t in texts}
    other_order = split_by_group(texts[::-1], 0.25, seed=1)
    assert {t.group for t in other_order[1]} == {t.group for t in held_out}
    assert split_by_group(texts, 0.25, seed=2) != (train, held_out)


def test_a_side_without_a_class():
    texts = [LabelledText((f"t{i}",), 1, f"g{i}") for i in range(10)]
    with pytest.raises(ValueError, match="among the training texts, but these are 8 of label 1 and 0 of label 0"):
        split_by_group(texts, 0.2, seed=0)
    texts = [LabelledText((f"t{i}",), i % 2, "same") for i in range(10)]
    with pytest.raises(ValueError, match="both classes must be among the training texts"):
        split_by_group(texts, 0.2, seed=0)
    with pytest.raises(ValueError, match="a label must be 0 or more, but is -1"):
        LabelledText(("a",), -1, "g")
    with pytest.raises(ValueError, match=r"a text is a sequence of segments, but got a string: pass \('Hi!',\)"):
        LabelledText("Hi!", 1, "g")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="both sides of a pair must have equally many segments, but got 2 and 1"):
        LabelledText(
            ("a", "b"),
            1,
            "g",
            pair=("a",),
        )


def to_codes(text: str) -> list[int]:
    return [ord(c) for c in text]


def to_text(ids) -> str:
    return "".join(map(chr, ids))


@pytest.mark.parametrize(("n", "lengths"), [(5, [2, 3, 4, 5]), (2, [2])])
def test_lengths_of_the_specification(n: int, lengths: list[int]):
    found = prefix_texts([LabelledText(("abcde"[:n],), 1, "a")], to_codes, to_text)
    assert [len(text.segments[0]) for text in found] == lengths


def test_a_draw_is_part_of_all_prefixes_in_order_and_without_repetition():
    whole = LabelledText(("abcdefghij" * 5,), 1, "a")
    drawn = [
        len(text.segments[0])
        for text in prefix_texts(
            [whole],
            to_codes,
            to_text,
            most=7,
        )
    ]
    assert len(set(drawn)) == 7
    assert drawn == sorted(drawn)
    assert set(drawn) <= set(range(2, 51))


def test_texts_keep_label_group_and_source():
    found = prefix_texts(
        [LabelledText(("source", "春風又綠"), 1, "a"), LabelledText(("x", "月"), 0, "b")], to_codes, to_text
    )
    assert [t.segments for t in found] == [("source", "春風"), ("source", "春風又"), ("source", "春風又綠")]
    assert {(t.label, t.group) for t in found} == {(1, "a")}
    with pytest.raises(ValueError, match="prefixes need a text of at least 2 tokens, but none of 1 has as many"):
        prefix_texts([LabelledText(("x", "月"), 0, "b")], to_codes, to_text)


def test_a_prefix_inside_a_character_is_left_out():
    found = prefix_texts(
        [LabelledText(("a月b",), 1, "a")], lambda s: list(s.encode()), lambda ids: bytes(ids).decode(errors="replace")
    )
    assert [t.segments for t in found] == [("a月",), ("a月b",)]


def test_characters_that_no_token_spells_do_not_shorten_a_text():
    known = {"春": 1, "風": 2, "綠": 3}
    found = prefix_texts(
        [LabelledText(("春風又綠",), 1, "a")],
        lambda s: [known.get(c, 0) for c in s],
        lambda ids: "".join(c for i in ids for c, n in known.items() if n == i),  # the unknown token has no text
    )
    assert [t.segments[0] for t in found] == ["春風", "春風又", "春風又綠"]
