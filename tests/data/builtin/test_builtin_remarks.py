"""Built-in remarks: what the grammar can write, and labels and ratings that are true."""

from collections import Counter

from data.builtin.remarks import PARTS, SAID, SENTIMENTS
from tests.data.builtin.kinds import rate


def sentiments_of(text: str) -> set[str]:
    """The sentiments of the endings, of the feelings and of what is said of parts in a text."""
    endings = {name: said for name, said in SAID.items() if "endings" in name}
    found = {name.split()[-1] for name, said in endings.items() if any(ending in text for ending in said)}
    found |= {label for label, verb in zip(SENTIMENTS, (" hated ", " loved "), strict=True) if verb in text}
    for part in (part for parts in PARTS.values() for part in parts):
        for label, said in part.said.items():
            if any(f"{part.name} {part.was} {each}" in text.lower() for each in said):
                found.add(label)
    return found


def test_ratings_say_how_many_sentences_have_the_label() -> None:
    rated = rate("builtin_remarks", 0)
    levels = Counter((remark.label, remark.ratings["attribute_relevance"]) for remark in rated)
    assert set(levels.values()) == {68}
    for remark in rated:
        both = {1.0: {remark.label}, 0.5: {*SENTIMENTS}, 0.0: {*SENTIMENTS} - {remark.label}}
        assert sentiments_of(remark.text) == both[remark.ratings["attribute_relevance"]]
