"""Words: each rule on nasty texts; MARS's rule on every script, contractions, hyphens, numbers and pictures."""

import marshal
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import data.words
from core.example import count_words
from data.words import (
    BLEU_SAFE,
    LETTERS,
    RUNS,
    RUNS_AND_MARKS,
    RUNS_CJK_AND_MARKS,
    begins_inside_word,
    ends_in_word,
    find_words,
    find_words_and_marks,
    fold,
    is_punctuation,
    split_words,
)

FAMILY = "👨\u200d👩\u200d👧"


def split(text: str) -> list[str]:
    return [word.text for word in split_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's late, Ann.", "It 's late , Ann ."),
        ("They couldn't've known; I’ll go.", "They could n't 've known ; I ’ll go ."),
        ("CAN'T won't cannot", "CA N'T wo n't cannot"),
        ("the dogs' o'clock 'twas", "the dogs ' o'clock ' twas"),
        ("a well-known mother-in-law's word--word", "a well-known mother-in-law 's word -- word"),
        ("[FEMALE] 's dog did n't", "[FEMALE] 's dog did n't"),
        ("[a] [B", "[ a ] [ B"),
        ("1,000.50 at 10:30, 9/11; 3rd, 20-year-old (50%)", "1,000.50 at 10:30 , 9/11 ; 3rd , 20-year-old ( 50 % )"),
        ("In the U.S. at 5 p.m. J. Smith.", "In the U.S. at 5 p.m. J . Smith ."),
        ("Wait... what?! ``No''", "Wait ... what ? ! `` No ''"),
        ("春眠不觉晓。ok", "春 眠 不 觉 晓 。 ok"),
        ("カナ 한국어 말", "カ ナ 한국어 말"),
        ("שלום, עולם", "שלום , עולם"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
        (f"{FAMILY}👍🏽🇫🇷🇩🇪❤️❤️", f"{FAMILY} 👍🏽 🇫🇷 🇩🇪 ❤️ ❤️"),
        ("cafe\u0301s", "cafe\u0301s"),
        ("a\u200bb\ufeffc", "a b c"),
        ("", ""),
        (" \n\t\u3000", ""),
    ],
)
def test_words_by_hand(text: str, expected: str) -> None:
    assert split(text) == expected.split()


@given(st.text(max_size=40) | st.text(alphabet="aZé0-'’.,/ n t s\u0301\u200d👍🏽🇫字[]", max_size=40))
@settings(max_examples=150, deadline=None)
def test_only_white_space_lies_between_words_of_any_text(text: str) -> None:
    end = 0
    for word in split_words(text):
        assert word.text
        assert text[word.start : word.end] == word.text
        assert re.fullmatch(r"[\s\u200b\ufeff]*", text[end : word.start])
        end = word.end
    assert re.fullmatch(r"[\s\u200b\ufeff]*", text[end:])


def test_a_lone_surrogate_is_a_word() -> None:
    assert split("a \ud83d b") == ["a", "\ud83d", "b"]


def test_a_very_long_word_takes_no_time() -> None:
    assert len(split_words("a" * 50_000 + "-b" * 20_000 + "'" * 20_000)) == 2


def test_folded_words_are_equal() -> None:
    for one, other in (("The", "the"), ("n’t", "N'T"), ("ﬁsh", "FISH"), ("שלום\u200f", "שלום"), ("❤️", "❤")):
        assert fold(one) == fold(other)
    assert fold("cafe\u0301") == fold("CAFÉ")


def test_what_is_punctuation() -> None:
    assert [w for w in split("`` No , '' he said : $ 5 + 50% ... 👍🏽 🇫🇷 。") if not is_punctuation(w)] == [
        *["No", "he", "said", "5", "50", "👍🏽", "🇫🇷"]
    ]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab7'-. 字א,", max_size=6), st.text(alphabet="ab7'-. \u0301字א,", min_size=1, max_size=6))
def test_a_text_that_begins_no_word_inside_leaves_the_words_before_it(before: str, after: str) -> None:
    """Unless it goes on with a mark, which may be a part of an abbreviation or repeat the mark before it."""
    if ends_in_word(before) and not begins_inside_word(after) and after[0] not in ".,'-":
        words = split_words(before)
        assert split_words(before + after)[: len(words)] == words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Well , I do .", 5),  # marks between blanks count in scripts with blanks
        ("明月几时有？把酒问青天。", 10),  # had the length 1
        ("明月几时有 把酒问青天", 10),
        ("春が来た。", 4),
        ("ฉันรัก", 6),
        ("나는 집에 간다", 3),  # Korean has blanks
        ("GPT 很好, 3 分", 5),
    ],
)
def test_letters_count_where_words_have_no_blanks(text: str, count: int) -> None:
    assert count_words(text) == count


NASTY = (
    "Ann didn’t pay $1,000.50, O'Neil's x_y!",
    "&amp; [MALE]'s <b>km²</b>",
    "明月几时有？ab把酒3",
    "ㄅㄆ 𠀀𠀁 ニャー 안녕 café हिन्दी",
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (RUNS.findall, """\
Ann didn t pay 1 000 50 O Neil s x_y
amp MALE s b km² b
明月几时有 ab把酒3
ㄅㄆ 𠀀𠀁 ニャー 안녕 café ह न द"""),
        (LETTERS.findall, """\
Ann didn t pay O Neil s x y
amp MALE s b km² b
明月几时有 ab把酒
ㄅㄆ 𠀀𠀁 ニャー 안녕 café ह न द"""),
        (RUNS_AND_MARKS.findall, """\
Ann didn ’ t pay $ 1 , 000 . 50 , O ' Neil ' s x_y !
& amp ; [ MALE ] ' s < b > km² < / b >
明月几时有 ？ ab把酒3
ㄅㄆ 𠀀𠀁 ニャー 안녕 café ह ि न ् द ी"""),
        (RUNS_CJK_AND_MARKS.findall, """\
Ann didn ’ t pay $ 1 , 000 . 50 , O ' Neil ' s x_y !
& amp ; [ MALE ] ' s < b > km² < / b >
明 月 几 时 有 ？ ab 把 酒 3
ㄅㄆ 𠀀𠀁 ニ ャ ー 안녕 café ह ि न ् द ी"""),
        (find_words, """\
Ann didn t pay 1 000 50 O Neil s x y
amp MALE s b km² b
明 月 几 时 有 ab 把 酒 3
ㄅㄆ 𠀀 𠀁 ニ ャ ー 안녕 café हिन्दी"""),
        (find_words_and_marks, """\
Ann didn ’ t pay $ 1 , 000 . 50 , O ' Neil ' s x_y !
& amp ; [ MALE ] ' s < b > km² < / b >
明 月 几 时 有 ？ ab 把 酒 3
ㄅㄆ 𠀀 𠀁 ニ ャ ー 안녕 café हिन्दी"""),
        (BLEU_SAFE.findall, """\
Ann didn’t pay 1,000.50 O'Neil's x_y
&amp; MALE]'s b>km²</b
明月几时有？ab把酒3
ㄅㄆ 𠀀𠀁 ニャー 안녕 café हिन्दी"""),
        (split, """\
Ann did n’t pay $ 1,000.50 , O'Neil 's x _ y !
& amp ; [MALE] 's < b > km² < / b >
明 月 几 时 有 ？ ab 把 酒 3
ㄅ ㄆ 𠀀 𠀁 ニ ャ ー 안녕 café हिन्दी"""),
    ]
)  # fmt: skip
def test_words_by_rule(rule: Callable[[str], list[str]], expected: str) -> None:
    assert "\n".join(" ".join(rule(text)) for text in NASTY) == expected
    assert rule("") == rule(" \n\t") == []


def test_the_dictionary_is_not_one_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda _: tmp_path / "own")
    monkeypatch.setattr(data.words, "_segmenter", data.words._segmenter.__wrapped__)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/jieba.cache").write_bytes(marshal.dumps(({"a": 0, "ab": 9, "c": 0, "cd": 9}, 9)))
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"a": 0, "abc": 9, "d": 9}, 9)))
    assert data.words.split_chinese("abcd") == ["ab", "cd"]
