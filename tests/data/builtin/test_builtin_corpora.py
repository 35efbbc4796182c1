"""All built-in corpora: the same in every process, no text on two sides, and what is true in each of them."""

import random
import re
from collections import Counter
from functools import cache
from itertools import chain, combinations

import pytest

from core.errors import SettingError
from core.example import Example
from core.stages import fingerprint
from data.builtin import damage
from data.builtin.concepts import (
    PARTS,
    SCENES,
    Event,
    generate_concept_sentences,
    make_odd,
    make_senseless,
    random_event,
)
from data.builtin.controlled import SYSTEMS, World, rated_texts
from data.builtin.news import NEWS
from data.builtin.remarks import PARTS as PARTS_OF_REMARKS
from data.builtin.remarks import SAID, SENTIMENTS
from data.builtin.reviews import REVIEWS
from data.builtin.stories import CAUSES
from data.files import to_record
from data.sets.builtin import SOURCES, TEXT, builtin_corpus
from tests.data.builtin.kinds import rate
from tests.data.builtin.probe import measure_cues
from tests.meta_eval.sets import rho

ALL = pytest.mark.parametrize("name", SOURCES)
RATED = pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.rate])
SEEDS = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])


@cache
def texts(name: str) -> tuple[Example, ...]:
    return SOURCES[name].generate(2000, seed=1)


HASHES = {
    "builtin": "2cb5fbda",
    "builtin_stories": "145eba25",
    "builtin_concepts": "769ce557",
    "builtin_reviews": "af87a2c0",
    "builtin_news": "b791fd1f",
    "builtin_remarks": "e2896eb6",
    "builtin_verse": "14d0b055",
}


@ALL
def test_a_seed_gives_the_same_texts_in_every_process_and_version(name: str) -> None:
    generate, rate, *_ = SOURCES[name]
    made = (generate(20, seed=1), rate and rate(20, seed=1))
    assert fingerprint([to_record(e) for e in chain(*filter(None, made))])[:8] == HASHES[name]


@ALL
def test_the_first_texts_stay_when_more_are_asked_for(name: str) -> None:
    generate = SOURCES[name].generate
    assert generate(10, seed=3) == generate(30, seed=3)[:10]
    assert generate(0, seed=3) == ()
    assert generate(5, seed=3) != generate(5, seed=4)
    assert len({(e.text, e.turns) for e in texts(name)}) == 2000


@RATED
def test_training_texts_are_made_without_damage(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    generate, rate = SOURCES[name][:2]
    assert rate is not None
    expected = generate(20, seed=1)
    for function in [each for each in vars(damage) if each.islower() and not each.startswith("_")]:
        monkeypatch.delattr(damage, function)
    assert generate(20, seed=1) == expected
    with pytest.raises(AttributeError):
        rate(20, seed=1)


@SEEDS
@RATED
def test_no_seed_trains_on_a_rated_text(name: str, seed: int) -> None:
    generate, _, key, _ = SOURCES[name]
    train = {key(e) for e in (*texts(name), *generate(1000, seed=0))}
    assert train.isdisjoint(map(key, rate(name, seed)))


@SEEDS
@RATED
def test_length_does_not_tell_the_quality(name: str, seed: int) -> None:
    examples = rate(name, seed)
    lengths = [[len(e.full_text.split()) for e in examples], [len(e.full_text) for e in examples]]
    for aspect in examples[0].ratings:
        quality = [e.ratings[aspect] for e in examples]
        in_words, in_characters = (abs(rho(length, quality)) for length in lengths)
        assert in_words < 0.05
        assert in_characters < 0.1


@RATED
def test_cheap_cues_together_do_not_tell_the_quality(name: str) -> None:
    for aspect in rate(name, 0)[0].ratings:
        found = measure_cues(name, aspect, 0).get("together", 0.0)
        # a consistent review repeats words of its prefix
        assert abs(found) < (0.3 if (name, aspect) == ("builtin_reviews", "consistency") else 0.2)


@pytest.mark.parametrize("name", SOURCES)
def test_a_corpus_has_all_parts_and_no_text_is_in_two(name: str) -> None:
    has_rated, key = name != "builtin_verse", TEXT if SOURCES[name].in_order else SOURCES[name].key
    made = builtin_corpus(name, train=300, held_out=40, rated=39, seed=2)
    assert (made.name, made.synthetic, len(made.train) + len(made.held_out)) == (name, True, 340)
    assert [(each.name, each.synthetic, len(each.examples)) for each in made.rated] == [(name, True, 39)] * has_rated
    parts = [made.train, made.held_out, *(each.examples for each in made.rated)]
    keys = [set(map(key, part)) for part in parts]
    assert len(keys[1]) == 40
    assert len(set.union(*keys)) == sum(map(len, keys))


def test_choices_of_built_in_corpora() -> None:
    news = builtin_corpus("builtin_news", train=300, held_out=0, rated=4, verdicts=0.5)
    assert list(news.labels) == sorted({str(e.label) for e in news.train})
    assert any(e.prefix is None for e in news.train)
    assert all(e.prefix for e in builtin_corpus("builtin_news", train=50, held_out=0, rated=4).train)
    remarks = [builtin_corpus("builtin_remarks", 20, 0, 3, labels=labels) for labels in ("sentiment", "topic")]
    assert [e.text for e in remarks[0].train] == [e.text for e in remarks[1].train]
    assert [len(each.rated) for each in remarks] == [1, 0]
    assert [len(each.labels) for each in remarks] == [2, 4]
    for wrong in ({"name": "builtin_poems"}, {"held_out": -1}, {"labels": "tone"}):
        with pytest.raises(SettingError):
            builtin_corpus(**{"name": "builtin_remarks", "train": 3, "held_out": 2, **wrong})


ASPECTS = ("coherence", "consistency", "attribute_relevance")
WORLDS = pytest.mark.parametrize(("name", "world"), [("builtin_reviews", REVIEWS), ("builtin_news", NEWS)])


@WORLDS
def test_rated_texts_begin_with_their_prefix_and_are_answers_of_four_systems(name: str, world: World) -> None:
    examples = rate(name, 0)
    assert len({e.text for e in examples}) == len({e.id for e in examples}) == 400
    for start in range(0, 400, 4):
        four = examples[start : start + 4]
        assert [e.system for e in four] == list(SYSTEMS)
        assert len({(e.prefix, e.label, e.group) for e in four}) == 1
        assert four[0].group == f"{four[0].label}: {four[0].prefix}"
        assert four[0].label == world.labels[start // 4 % len(world.labels)]
    assert len({e.group for e in examples}) == 100
    for e in examples:
        assert e.prefix is not None
        assert e.text.startswith(e.prefix)
        assert 4 <= len(re.findall(r'[.!]"?(?: |$)', e.text)) <= 7
    assert rated_texts(world, 6, 0)[5].system == "fluent"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@WORLDS
def test_no_aspect_tells_the_quality_in_another(name: str, world: World, seed: int) -> None:
    for a, b in combinations(ASPECTS, 2):
        one, other = ([e.ratings[aspect] for e in rate(name, seed)] for aspect in (a, b))
        assert abs(rho(one, other)) < 0.15


def count_misused(event: Event) -> int:
    """The number of nouns whose part no scene with this verb allows."""
    scenes = [scene for scene in SCENES if event["verb"] in scene["verb"]]
    return sum(all(event[part] not in scene[part] for scene in scenes) for part in PARTS)


def test_concepts_come_first_and_are_in_the_sentence() -> None:
    for example in generate_concept_sentences(200, seed=3):
        concepts, sentence = example.turns
        assert concepts.split(", ") == sorted(concepts.split(", "))
        assert all(concept[:-1] in sentence for concept in concepts.split(", "))  # copy, copies


def test_levels_misuse_no_two_and_four_nouns() -> None:
    rng = random.Random(0)
    for _ in range(500):
        event = random_event(rng)
        assert [count_misused(each) for each in (event, make_odd(event, rng), make_senseless(event))] == [0, 2, 4]


def sentiments_of(text: str) -> set[str]:
    """The sentiments of the endings, of the feelings and of what is said of parts in a text."""
    endings = {name: said for name, said in SAID.items() if "endings" in name}
    found = {name.split()[-1] for name, said in endings.items() if any(ending in text for ending in said)}
    found |= {label for label, verb in zip(SENTIMENTS, (" hated ", " loved "), strict=True) if verb in text}
    for part in (part for parts in PARTS_OF_REMARKS.values() for part in parts):
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


def tells(text: object, clause: str) -> bool:
    """Whether a text has a clause, of whichever person."""
    return re.search(rf"\b{re.sub(r'{.*?}', '[a-z]+', clause)}\b", str(text)) is not None


def test_rated_endings_are_what_their_labels_say() -> None:
    for e in rate("builtin_stories", 0)[:150]:
        for kind, causes in CAUSES.items():
            clauses = [(cause, clause) for cause, said in causes.items() for clause in said[-1]]
            (told,) = (each for each in clauses if tells(e.text, each[1]))
            (right,) = (each for each in clauses if tells(e.references[0], each[1]))
            assert told != right
            assert (told[0] != right[0]) == (kind in (e.label or ""))
            assert any(tells(e.context, clause) for clause in causes[right[0]][0])
