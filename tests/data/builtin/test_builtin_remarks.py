"""Built-in remarks: what the grammar can write, and labels and ratings that are true."""

import re
from collections import Counter

from data.builtin.remarks import ENDINGS, PARTS, SENTIMENTS, TOPICS, generate_remarks
from tests.data.builtin.kinds import rate


def sentiments_of(text: str) -> set[str]:
    """The sentiments of the endings, of the feelings and of what is said of parts in a text."""
    found = {label for (_, label), endings in ENDINGS.items() if any(ending in text for ending in endings)}
    found |= {label for label, verb in zip(SENTIMENTS, (" hated ", " loved "), strict=True) if verb in text}
    for part in (part for parts in PARTS.values() for part in parts):
        for label, said in part.said.items():
            if any(f"{part.name} {part.was} {each}" in text.lower() for each in said):
                found.add(label)
    return found


def test_every_remark_is_of_its_topic_and_sentiment_and_begins_with_its_prefix() -> None:
    remarks, by_topic = (generate_remarks(400, 3, kind, verdicts=0.5) for kind in ("sentiment", "topic"))
    assert [remark.label for remark in remarks] == [*SENTIMENTS] * 200
    assert [remark.label for remark in by_topic] == [topic for topic in TOPICS for _ in SENTIMENTS] * 50
    for remark, other in zip(remarks, by_topic, strict=True):
        assert remark.text == other.text
        named = {t for t, parts in PARTS.items() for p in parts if re.search(rf"\b{p.name}\b", remark.text, re.I)}
        assert str(other.label) in named
        assert sentiments_of(remark.text) == {remark.label}
        assert remark.prefix is None or remark.text.startswith(f"{remark.prefix} ")
    words = {word.strip(".,!") for remark in remarks for word in remark.text.split()}
    assert len(words) < 700  # few enough to be tokens


def test_ratings_say_how_many_sentences_have_the_label() -> None:
    rated = rate("remarks", 0)
    levels = Counter((remark.label, remark.ratings["attribute_relevance"]) for remark in rated)
    assert set(levels.values()) == {68}
    for remark in rated:
        both = {1.0: {remark.label}, 0.5: {*SENTIMENTS}, 0.0: {*SENTIMENTS} - {remark.label}}
        assert sentiments_of(remark.text) == both[remark.ratings["attribute_relevance"]]
