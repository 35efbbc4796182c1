"""Ratings in words: yes and no, orders that are given, and words that are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import InputError, SettingError
from data.files import iterate_examples, to_record
from data.rating_words import freeze_levels, order_words
from data.scored import read_scored
from tests.data.sets import small_files


def write(path: Path, ratings: list[Any], scores: list[Any] | None = None) -> Path:
    """Rated texts of one aspect, `q`, and perhaps scores of `m`."""
    rows = [{"text": f"t{i}", "ratings": {"q": rating}} for i, rating in enumerate(ratings)]
    for row, score in zip(rows, scores or [], strict=False):
        row["scores"] = {"m": score}
    return small_files.write(path, *rows)


@pytest.mark.parametrize("words", [["Fu\u0308r", None], ["yes", "no", "maybe"]])
def test_words_without_an_order_are_refused(tmp_path: Path, words: list[Any]) -> None:
    with pytest.raises(InputError, match="a known order"):
        read_scored(write(tmp_path / "x.jsonl", words))


def test_unknown_words_are_refused_with_the_words_and_the_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", ["typical", "Rare", "typical", "average"], ["rare", None])
    with pytest.raises(InputError) as caught:
        read_scored(path)
    rule = 'words that rate must have a known order, found typical, Rare, average in "q"'
    assert caught.value.faults[0] == f'{path}: {rule}: levels=["WORST", "...", "BEST"] gives their order'
    found = read_scored(path, levels=["rare", "average", "typical"])
    assert found.ratings("q").tolist() == [2, 0, 2, 1]
    assert found.notes == ("x.jsonl: ratings in words: rare 0, average 1, typical 2",)
    assert read_scored(path, levels={"q": ["typical", "average", "rare"]}).ratings("q").tolist() == [0, 2, 0, 1]
    with pytest.raises(InputError, match='levels of "q" must hold every level, but lack average'):
        read_scored(path, levels={"q": ["rare", "typical"]})


def test_a_given_order_comes_before_that_of_yes_and_no(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", ["yes", "no", True], ["no", "no", "yes"])
    assert read_scored(path).ratings("q").tolist() == [1, 0, 1]
    found = read_scored(write(tmp_path / "x.jsonl", ["yes", "no"], ["no", "yes"]), levels={"q": ["yes", "no"]})
    assert found.ratings("q").tolist() == [0, 1]
    assert found.values("m", "").tolist() == [1, 0]  # it has the words of the scale
    numbers = write(tmp_path / "y.jsonl", [1, 2, 3])
    assert read_scored(numbers, levels={"q": [3, 2, 1]}).ratings("q").tolist() == [3, 2, 1]
    assert read_scored(numbers, levels={"q": [3, 2, 1]}).notes == ("y.jsonl: ratings in words: 3 1, 2 2, 1 3",)
    assert read_scored(numbers, levels={"q": [1, 2, 3]}).notes == ()


def test_files_of_systems_share_numbers(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", ["poor", "good"])
    new = write(tmp_path / "new.jsonl", ["good", "excellent"])
    found = read_scored(systems=[f"old={old}", f"new={new}"], levels=["poor", "good", "excellent"])
    assert found.ratings("q").tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    "levels", [5, "poor", ["poor"], ["poor", "Poor "], ["poor", 1], [1, 2, 3], {"q": "poor"}, {"q": [None, "a"]}]
)
def test_what_is_no_scale_is_refused(levels: Any) -> None:
    with pytest.raises(SettingError, match="levels"):
        freeze_levels(levels)


def test_the_order_of_yes_and_no_is_said_too() -> None:
    toxic = ("ratings", "toxic")
    words = order_words({toxic: ["Yes", "no"]})
    assert (words.notes, words.convert(toxic, "Yes")) == (("ratings in words: no 0, yes 1",), 1)
    assert order_words({toxic: ["true", "false"]}).notes == ()


def test_a_cell_with_a_comma_is_a_question(tmp_path: Path) -> None:
    """It may be a decimal, or the ratings of two people."""
    path = small_files.write(tmp_path / "x.csv", "text;rating:q\na;3,5\nb;4")
    with pytest.raises(InputError, match='"3,5" in "q" may be two whole numbers or a decimal comma: give each person'):
        read_scored(path)


def test_words_are_shown_as_they_stand_in_the_file(tmp_path: Path) -> None:
    path = small_files.write(tmp_path / "x.csv", "text,rating:q\na,5|5_2|2\nb,Odd-One")
    with pytest.raises(InputError, match=r"found 5\|5_2\|2, Odd-One in"):
        read_scored(path)


def test_what_is_only_scored_keeps_its_words(tmp_path: Path) -> None:
    """A file of any length is read once, so nothing asks for an order of its words."""
    path = write(tmp_path / "x.jsonl", ["typical", {"ann": "rare", "ben": 3}, [4, None]])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [to_record(example) for _, example in iterate_examples(path)]
    assert [row["ratings"] for row in kept] == [row["ratings"] for row in rows]


@pytest.mark.parametrize("word", ["yes", True, "good"])
def test_words_among_numbers_are_refused(tmp_path: Path, word: Any) -> None:
    """Yes is no 1 on a scale from 1 to 5."""
    path = write(tmp_path / "x.jsonl", [3, word, 5])
    found = str(word).lower()
    with pytest.raises(InputError, match=f':2: "q" of "ratings" must be a valid number, found "{found}"'):
        read_scored(path)


def test_yes_and_no_are_levels_of_a_scale_from_0_to_1(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", ["yes", 0, 1])
    assert read_scored(path, levels={"q": [0, 1]}).ratings("q").tolist() == [1, 0, 1]
    assert read_scored(path, levels={"q": [1, 0]}).ratings("q").tolist() == [0, 1, 0]


def test_half_of_a_surrogate_pair_is_no_word(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=':1: "q" of "ratings" must be Unicode text'):
        read_scored(small_files.write(tmp_path / "x.jsonl", r'{"text": "a", "ratings": {"q": "\ud83d"}}'))
