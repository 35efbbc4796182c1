"""Sentence splitters and cleaning: English prose, any text with end marks, regular expressions, hashtags."""

from pathlib import Path

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SettingError
from core.example import Example
from data.cleaning import clean_examples, remove_hashtags_and_urls
from data.sentences import make_splitter, split_english, split_sentences


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_english_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(split_english(text)).split()) == "".join(text.split())


def test_english_sentences() -> None:
    assert split_english('It works. "Really?" she asked. Yes! 3 times… Then?') == [
        *("It works.", '"Really?" she asked.', "Yes!", "3 times…", "Then?")
    ]
    assert split_english("Mr. Li met Prof. Ada B. Byron. vs. a cat") == ["Mr. Li met Prof. Ada B. Byron. vs. a cat"]
    assert split_english("今天好。明天也好。") == ["今天好。", "明天也好。"]
    assert split_english(" \n ") == []
    assert make_splitter(r"\n+")("a\n\nb\n") == ["a", "b"]


@pytest.mark.parametrize("name", ["spacy", "(", "(a)"])
def test_an_unknown_splitter_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=r"regular expression"):
        make_splitter(name)


def test_nltk_splits_by_its_data_and_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(
        SettingError, match=r"punkt_tab is not on this machine: run python -m nltk.downloader punkt_tab"
    ):
        make_splitter("nltk")
    folder = tmp_path / "tokenizers/punkt_tab/english"
    folder.mkdir(parents=True)
    for name, content in (("abbrev_types.txt", "dr\n"), ("collocations.tab", ""), ("sent_starters.txt", "")):
        (folder / name).write_text(content)
    (folder / "ortho_context.tab").write_text("")
    assert make_splitter("nltk")("Dr. Wu met Ann. She left.") == ["Dr. Wu met Ann.", "She left."]


def test_texts_are_split_sentences() -> None:
    assert split_sentences("明月。几时有？ Yes...") == ["明月。", "几时有？", "Yes..."]
    assert split_sentences("dr. who ran . he fell !\n\nand") == ["dr.", "who ran .", "he fell !", "and"]
    assert split_sentences(" \n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read www.a.org/x?y=1.", "Read"),
        ("#monday was good", "was good"),
        ("C# and a#b stay, so does # alone", "C# and a#b stay, so does # alone"),
        ("two  spaces stay", "two  spaces stay"),
    ],
)
def test_hashtags_and_urls(text: str, expected: str) -> None:
    assert remove_hashtags_and_urls(text) == expected


def test_all_texts_of_an_example_are_cleaned() -> None:
    example = Example("a", "a #b", context="http://x.y c", references=("d #e", "f"), ratings={"overall": 1.0})
    [cleaned] = clean_examples([example])
    assert (cleaned.text, cleaned.context, cleaned.references) == ("a", "c", ("d", "f"))
    assert cleaned.ratings == example.ratings
    assert clean_examples([Example("b", "x")])[0].context is None
