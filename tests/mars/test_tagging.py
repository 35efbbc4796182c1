"""The tagger: how good it is on sentences it was not developed on."""

from collections import Counter
from pathlib import Path

from data.words import is_punctuation
from mars.english import PartOfSpeech, tag_words

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
        pairs = zip(text, classes, tag_words(text), strict=True)
        counts.update((right, given) for word, right, given in pairs if not is_punctuation(word))
    return counts


def test_the_builtin_tagger_on_sentences_it_was_not_developed_on() -> None:
    counts = outcome("held out")
    right = {pos: counts[pos, pos] / sum(n for (own, _), n in counts.items() if own == pos) for pos in CLASSES.values()}
    assert sum(counts[pos, pos] for pos in CLASSES.values()) / sum(counts.values()) >= 0.97
    assert min(right.values()) >= 0.93, right


def test_tag_words_in_context() -> None:
    assert tag_words(["They", "walk", "home"]) == ["other", "other", "adverb"]
    assert tag_words(["A", "long", "walk"]) == ["other", "adjective", "noun"]
    assert tag_words(["I", "met", "Emily", "and", "[FEMALE]", "."]) == [
        *("other", "other", "noun", "other", "noun", "other"),
    ]
    assert tag_words([]) == []
