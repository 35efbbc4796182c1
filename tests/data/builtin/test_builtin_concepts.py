"""Built-in concept sentences: sensible by the grammar's facts, misused in known ways, rated apart from length."""

import random
from collections import Counter

from data.builtin.concepts import (
    SCENES,
    Event,
    _odd,
    _random_event,
    _senseless,
    generate_concept_sentences,
    rated_concept_sentences,
)


def count_misused(event: Event) -> int:
    """The number of nouns whose part no scene with this verb allows."""
    scenes = [scene for scene in SCENES if event.verb in scene.verbs]
    parts = ("agent", "object", "instrument", "place")
    return sum(all(getattr(event, part) not in getattr(scene, f"{part}s") for scene in scenes) for part in parts)


def test_concepts_come_first_and_are_in_the_sentence() -> None:
    for example in generate_concept_sentences(200, seed=3):
        concepts, sentence = example.turns
        assert concepts.split(", ") == sorted(concepts.split(", "))
        assert all(concept[:-1] in sentence for concept in concepts.split(", "))  # copy, copies


def test_levels_break_no_two_and_four_parts() -> None:
    assert count_misused(Event("cut/cuts", "chef", "onion", "knife", "kitchen")) == 0
    assert count_misused(Event("cut/cuts", "chef", "knife", "onion", "kitchen")) == 2
    assert count_misused(Event("cut/cuts", "onion", "chef", "kitchen", "knife")) == 4
    rng = random.Random(0)
    for _ in range(500):
        event = _random_event(rng)
        assert [count_misused(each) for each in (event, _odd(event, rng), _senseless(event))] == [0, 2, 4]


def test_the_three_sentences_of_a_concept_set_differ_in_order_alone() -> None:
    rated = rated_concept_sentences(300, seed=0)
    assert Counter(example.label for example in rated) == {"sensible": 100, "odd": 100, "senseless": 100}
    for i in range(0, 300, 3):
        three = rated[i : i + 3]
        assert len({example.group for example in three}) == 1
        assert len({tuple(sorted(example.text.split())) for example in three}) == 1
        assert len({example.text for example in three}) == 3
        assert [example.ratings["commonsense"] for example in three] == [1.0, 0.5, 0.0]
