"""Built-in remarks: what the grammar can write, labels and ratings that are true, and nothing that gives them away."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import spearmanr

from data.builtin.remarks import ENDINGS, PARTS, SENTIMENTS, TOPICS, find_topics, generate_remarks, rated_remarks


def sentiments_of(text: str) -> set[str]:
    """The sentiments of the endings, of the feelings and of what is said of parts in a text."""
    found = {label for (_, label), endings in ENDINGS.items() if any(ending in text for ending in endings)}
    found |= {label for label, verb in zip(SENTIMENTS, (" hated ", " loved "), strict=True) if verb in text}
    for part in (part for parts in PARTS.values() for part in parts):
        for label, said in part.said.items():
            if any(f"{part.name} {part.was} {each}" in text.lower() for each in said):
                found.add(label)
    return found


def test_sentiments_and_topics_come_in_turn_and_other_labels_change_only_the_labels() -> None:
    remarks, by_topic = generate_remarks(9, seed=0), generate_remarks(9, seed=0, kind="topic")
    assert [each.label for each in remarks] == [*SENTIMENTS * 4, SENTIMENTS[0]]
    assert [each.label for each in by_topic] == [topic for topic in TOPICS for _ in SENTIMENTS] + [TOPICS[0]]
    assert [each.text for each in remarks] == [each.text for each in by_topic]
    assert generate_remarks(4, seed=0) == remarks[:4]


def test_every_remark_is_of_its_topic_and_sentiment_and_begins_with_its_prefix() -> None:
    by_topic = generate_remarks(400, seed=3, kind="topic", verdicts=0.5)
    for remark, topic in zip(generate_remarks(400, seed=3, verdicts=0.5), by_topic, strict=True):
        assert find_topics(remark.text) == {topic.label}
        assert sentiments_of(remark.text) == {remark.label}
        assert remark.prefix is None or remark.text.startswith(f"{remark.prefix} ")


@pytest.mark.parametrize(
    "text",
    [
        "The food was mouldy. I asked for more.",  # said of a bathroom
        "The food were fresh. I asked for more.",
        "The food was fresh and fresh. I asked for more.",
        "The food was fresh. I fell asleep.",  # of a film
        "The fooded was fresh.",
        "The food was fresh. I asked for",
    ],
)
def test_what_the_grammar_cannot_write_has_no_topic(text: str) -> None:
    assert find_topics("The food was fresh. I asked for more.") == {"food"}
    assert find_topics(text) == set()


def test_ratings_say_how_many_sentences_have_the_label_and_nothing_of_the_length() -> None:
    rated = rated_remarks(360)
    levels = Counter((each.label, each.ratings["attribute_relevance"]) for each in rated)
    assert set(levels.values()) == {60}
    for remark in rated:
        rating = remark.ratings["attribute_relevance"]
        both = {1.0: {remark.label}, 0.5: {*SENTIMENTS}, 0.0: {*SENTIMENTS} - {remark.label}}
        assert sentiments_of(remark.text) == both[rating]
    words = [len(each.text.split()) for each in rated]
    ratings = [each.ratings["attribute_relevance"] for each in rated]
    assert abs(float(np.asarray(spearmanr(words, ratings))[0])) < 0.1


def test_no_seed_trains_on_a_rated_remark() -> None:
    rated = {each.text for each in rated_remarks(300)}
    assert not rated & {each.text for seed in range(3) for each in generate_remarks(1000, seed)}


def test_the_words_are_few_enough_to_be_tokens() -> None:
    words = {word.strip(".,!") for remark in generate_remarks(3000, 0, verdicts=0.5) for word in remark.text.split()}
    assert len(words) < 700
    assert np.mean([len(remark.text.split()) for remark in generate_remarks(200, 1)]) < 30
