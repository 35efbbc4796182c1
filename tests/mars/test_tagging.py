"""Taggers: how good the built-in one is on sentences it was not developed on, how others are named and missed."""

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from core.faults import InputFaults
from data.words import is_punctuation
from mars.english import PartOfSpeech, builtin_tags
from mars.tagging import load_tagger

TAGGED = Path(__file__).with_name("tagged.txt")
CLASSES: dict[str, PartOfSpeech] = {"a": "adjective", "r": "adverb", "n": "noun", "": "other"}
Sentence = tuple[list[str], list[PartOfSpeech]]


def sentences(half: str) -> list[Sentence]:
    """The sentences under the line "# half" of the file: words and classes."""
    found: list[Sentence] = []
    inside = False
    for line in TAGGED.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            inside = line == f"# {half}"
        elif inside:
            cells = [cell.rpartition("/") if cell[-2:-1] == "/" else (cell, "", "") for cell in line.split()]
            found.append(([word for word, _, _ in cells], [CLASSES[mark] for _, _, mark in cells]))
    return found


def outcome(half: str) -> Counter[tuple[PartOfSpeech, PartOfSpeech]]:
    """How often a word of one class was given another, or its own; punctuation left out."""
    counts: Counter[tuple[PartOfSpeech, PartOfSpeech]] = Counter()
    for text, classes in sentences(half):
        pairs = zip(text, classes, builtin_tags(text), strict=True)
        counts.update((right, given) for word, right, given in pairs if not is_punctuation(word))
    return counts


def test_the_builtin_tagger_on_sentences_it_was_not_developed_on() -> None:
    counts = outcome("held out")
    right = {pos: counts[pos, pos] / sum(n for (own, _), n in counts.items() if own == pos) for pos in CLASSES.values()}
    assert sum(counts[pos, pos] for pos in CLASSES.values()) / sum(counts.values()) >= 0.97
    assert min(right.values()) >= 0.93, right


def test_builtin_tags_in_context() -> None:
    assert builtin_tags(["They", "walk", "home"]) == ["other", "other", "adverb"]
    assert builtin_tags(["A", "long", "walk"]) == ["other", "adjective", "noun"]
    assert builtin_tags(["I", "met", "Emily", "and", "[FEMALE]", "."]) == [
        *("other", "other", "noun", "other", "noun", "other"),
    ]
    assert builtin_tags([]) == []


def test_spacy_or_its_model_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputFaults, match=r"pip install spacy; python -m spacy download en_core_web_sm"):
        load_tagger("spacy:en_core_web_sm")

    def load(model: str) -> None:
        raise OSError(f"[E050] Can't find model '{model}'.")

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    with pytest.raises(InputFaults, match="spacy download none"):
        load_tagger("spacy:none")


def test_tags_of_nltk_and_spacy_become_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries are played by stubs that return what theirs would."""
    text = ["Small", "dogs", "bark", "loudly", "."]
    penn = ["JJ", "NNS", "VBP", "RB", "."]
    nltk = ModuleType("nltk")
    perceptron = SimpleNamespace(tag=lambda found: list(zip(found, penn, strict=True)))
    nltk.__dict__.update(__version__="3", tag=SimpleNamespace(PerceptronTagger=lambda: perceptron))
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    expected = ["adjective", "noun", "other", "adverb", "other"]
    assert load_tagger("nltk")(text) == expected
    assert load_tagger("nltk").signature == "nltk-3"

    class Pipeline:
        vocab = "vocabulary"
        meta = {"version": "1.0"}  # noqa: RUF012

        def __call__(self, document: tuple[str, list[str]]) -> list[SimpleNamespace]:
            assert document == ("vocabulary", text)
            return [SimpleNamespace(pos_=tag) for tag in ("ADJ", "NOUN", "VERB", "ADV", "PUNCT")]

    spacy = SimpleNamespace(
        __version__="3.8",
        load=lambda model: Pipeline(),
        tokens=SimpleNamespace(Doc=lambda vocab, words: (vocab, words)),
    )
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert load_tagger("spacy:en_core_web_sm")(text) == expected
    assert load_tagger("spacy:en_core_web_sm").signature == "spacy-3.8-en_core_web_sm-1.0"
