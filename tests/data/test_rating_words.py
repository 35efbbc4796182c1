"""Ratings in words: usual orders, orders that are given, and words that are refused."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError, SettingError
from data.files import iterate_examples, to_record
from data.rating_words import freeze_levels, normalise_word, order_words, usual_scales
from data.scored import read_scored


def write(path: Path, ratings: list[Any], scores: list[Any] | None = None) -> Path:
    """Rated texts of one aspect, `q`, and perhaps scores of `m`."""
    rows = [{"text": f"t{i}", "ratings": {"q": rating}} for i, rating in enumerate(ratings)]
    for row, score in zip(rows, scores or [], strict=False):
        row["scores"] = {"m": score}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_scales_of_the_table_agree_on_the_order_of_words() -> None:
    for scale in usual_scales():
        assert len(scale) > 1
        assert len(set(scale)) == len(scale)
        assert [normalise_word(word) for word in scale] == list(scale)
    for one, other in combinations(usual_scales(), 2):
        shared = [word for word in one if word in other]
        assert shared == [word for word in other if word in shared], (one, other)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["poor", "good", "excellent", "fair"], [0, 2, 3, 1]),
        (["agree", "Strongly-Disagree", "strongly agree", "disagree", "neutral"], [3, 0, 4, 1, 2]),
        (["strongly agree", "disagree", "neutral"], [4, 1, 2]),  # the scale has five steps, though two are not used
        (["minor", "critical", "none", "major"], [2, 0, 3, 1]),  # the worse, the lower
        (["gut", "sehr gut", "mangelhaft"], [3, 4, 0]),
        (["不同意", "非常同意"], [1, 4]),
        (["👍", "👎"], [1, 0]),
        (["5 stars", "1 star", "4 stars"], [4, 0, 3]),
        (["yes", "no", "maybe"], [2, 0, 1]),
        (["yes", "no", True], [1, 0, 1]),
        (["Fu\u0308r", None], None),
    ],
)
def test_usual_words_have_their_order(tmp_path: Path, words: list[Any], numbers: list[float] | None) -> None:
    path = write(tmp_path / "x.jsonl", words)
    if numbers is None:
        with pytest.raises(InputError, match="a known order"):
            read_scored(path)
        return
    assert read_scored(path).ratings("q").tolist() == numbers


def test_unknown_words_are_refused_with_the_words_and_the_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", ["typical", "rare", "typical", "average"])
    with pytest.raises(InputError) as caught:
        read_scored(path)
    rule = 'words that rate must have a known order, found typical, rare, average in "q"'
    assert caught.value.faults == (f'{path}: {rule}: levels=["WORST", "...", "BEST"] gives their order',)
    found = read_scored(path, levels=["rare", "average", "typical"])
    assert found.ratings("q").tolist() == [2, 0, 2, 1]
    assert found.notes == ("x.jsonl: ratings in words: rare 0, average 1, typical 2",)
    assert read_scored(path, levels={"q": ["typical", "average", "rare"]}).ratings("q").tolist() == [0, 2, 0, 1]
    with pytest.raises(InputError, match='levels of "q" must hold every level, but lack average'):
        read_scored(path, levels={"q": ["rare", "typical"]})


def test_a_given_order_comes_before_a_usual_one(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", ["yes", "no", "yes"], ["no", "no", "yes"])
    found = read_scored(path, levels={"q": ["yes", "no"]})
    assert found.ratings("q").tolist() == [0, 1, 0]
    assert found.values("m", "").tolist() == [1, 1, 0]  # it shares the words
    numbers = write(tmp_path / "y.jsonl", [1, 2, 3])
    assert read_scored(numbers, levels={"q": [3, 2, 1]}).ratings("q").tolist() == [3, 2, 1]
    assert read_scored(numbers, levels={"q": [3, 2, 1]}).notes == ("y.jsonl: ratings in words: 3 1, 2 2, 1 3",)
    assert read_scored(numbers, levels={"q": [1, 2, 3]}).notes == ()


def test_scores_and_ratings_that_share_words_share_numbers(tmp_path: Path) -> None:
    found = read_scored(write(tmp_path / "x.jsonl", ["poor", "fair", "good"], ["good", "good", "poor"]))
    np.testing.assert_array_equal([found.ratings("q"), found.values("m", "")], [[0, 1, 2], [2, 2, 0]])


def test_files_of_systems_share_numbers(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", ["poor", "good"])
    new = write(tmp_path / "new.jsonl", ["good", "excellent"])
    found = read_scored(systems=[f"old={old}", f"new={new}"])
    assert found.ratings("q").tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    "levels", [5, "poor", ["poor"], ["poor", "Poor "], ["poor", 1], [1, 2, 3], {"q": "poor"}, {"q": [None, "a"]}]
)
def test_what_is_no_scale_is_refused(levels: Any) -> None:
    with pytest.raises(SettingError, match="levels"):
        freeze_levels(levels)


def test_a_given_order_that_lacks_a_word_is_refused() -> None:
    """The usual order of the words would take its place without a word, perhaps turned round."""
    words = order_words({("ratings", "q"): ["poor", "fair", "good"]}, freeze_levels(["good", "poor"]))
    assert words.problems == ('levels of "q" must hold every level, but lack fair',)
    other = {("ratings", "q"): ["safe", "unsafe"], ("ratings", "r"): ["poor", "good"]}
    assert order_words(other, freeze_levels(["good", "poor"])).problems == ()


def test_the_order_of_yes_and_no_is_said_too() -> None:
    """For a fault, such as toxic, yes is the worse one: then levels turns it round."""
    toxic = ("ratings", "toxic")
    words = order_words({toxic: ["Yes", "no"]})
    assert (words.notes, words.convert(toxic, "Yes")) == (("ratings in words: no 0, yes 1",), 1)
    turned = order_words({toxic: ["Yes", "no"]}, freeze_levels(["yes", "no"]))
    assert turned.convert(toxic, "Yes") == 0
    assert order_words({toxic: ["true", "false"]}).notes == ()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "4"], [3.5, 4]),
        (["3,5", "4,0", "2,5"], [3.5, 4, 2.5]),
        (["0,75", "1,0"], [0.75, 1]),
        (["3,4", "5,3", "4,4"], None),
    ],
)
def test_two_whole_numbers_are_no_decimal(tmp_path: Path, cells: list[str], numbers: list[float] | None) -> None:
    """Two people may stand in one cell; a decimal comma is said."""
    path = tmp_path / "x.csv"
    path.write_text("".join(["text;rating:q\n", *(f"a;{cell}\n" for cell in cells)]))
    if numbers is None:
        with pytest.raises(
            InputError, match='"3,4" in "q" may be two whole numbers or a decimal comma: give each person'
        ):
            read_scored(path)
        return
    found = read_scored(path)
    assert found.ratings("q").tolist() == numbers
    assert "x.csv: decimal commas in q: " in found.notes[0]


def test_words_are_shown_as_they_stand_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text,rating:q\na,5|5_2|2\nb,Odd-One\n")
    with pytest.raises(InputError, match=r"found 5\|5_2\|2, Odd-One in"):
        read_scored(path)


def test_what_is_only_scored_keeps_its_words(tmp_path: Path) -> None:
    """A file of any length is read once, so nothing asks for an order of its words."""
    path = write(tmp_path / "x.jsonl", ["typical", {"ann": "rare", "ben": 3}, [4, None]])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [to_record(example) for _, example in iterate_examples(path)]
    assert [row["ratings"] for row in kept] == [row["ratings"] for row in rows]
