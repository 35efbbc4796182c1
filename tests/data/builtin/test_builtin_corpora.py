"""All built-in corpora: their bytes, no text on two sides, and length tells nothing about quality."""

import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.example import Example
from data.builtin.concepts import generate_concept_sentences, rated_concept_sentences
from data.builtin.controlled import generate_texts, rated_texts
from data.builtin.dialogues import generate_dialogues, rated_dialogues
from data.builtin.news import NEWS
from data.builtin.reviews import REVIEWS
from data.builtin.stories import generate_stories, rated_stories
from data.builtin.verse import generate_verse
from data.corpus import Corpus
from data.sets.attributes import builtin_news, builtin_reviews
from data.sets.commongen import builtin_concepts
from data.sets.dialogues import builtin_dialogues
from data.sets.songci import builtin_verse
from data.sets.stories import builtin_stories

Make = Callable[..., tuple[Example, ...]]
Rated = Callable[[str, int], tuple[Example, ...]]


class Kind(NamedTuple):
    """How a corpus is made, and the field that makes a text another one."""

    generate: Make
    rate: Make | None
    field: str

    def key(self, example: Example) -> Any:
        return getattr(example, self.field)


KINDS = {
    "review": Kind(partial(generate_texts, REVIEWS), partial(rated_texts, REVIEWS), "text"),
    "news": Kind(partial(generate_texts, NEWS), partial(rated_texts, NEWS), "text"),
    "dialogues": Kind(generate_dialogues, rated_dialogues, "turns"),
    "stories": Kind(generate_stories, rated_stories, "context"),
    "concepts": Kind(generate_concept_sentences, rated_concept_sentences, "group"),
    "verse": Kind(generate_verse, None, "text"),
}
DIGESTS = {
    "review": ("72c43c04383c6c42", "8a463efdbc455128"),
    "news": ("0fe8860fd13689f1", "345a359fa73fbc54"),
    "dialogues": ("cdf56b08f78e794d", "0686111f1c402a59"),
    "stories": ("60bdb4a72063788f", "db61d89af530260b"),
    "concepts": ("5e609d74a309e1c0", "1b78f1ef7e753ec4"),
    "verse": ("89225ca0ed2e9441",),
}
ALL = pytest.mark.parametrize("name", KINDS)
RATED = pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.rate])
SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3)))


@cache
def texts(name: str) -> tuple[Example, ...]:
    return KINDS[name].generate(2000, seed=1)


def digest(examples: Sequence[Example]) -> str:
    plain = json.dumps([astuple(e)[:-1] for e in examples], default=dict)  # generated texts have no extra
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def rho(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.asarray(spearmanr(a, b))[0])


def content(example: Example) -> Hashable:
    return example.text, example.turns


@ALL
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    kind, verdicts = KINDS[name], {"verdicts": 0.5} if name in ("review", "news") else {}
    made = [kind.generate(50, seed=1, **verdicts)]
    made += [kind.rate(40, seed=1)] if kind.rate else []
    assert tuple(map(digest, made)) == DIGESTS[name]


@ALL
def test_the_first_texts_stay_when_more_are_asked_for(name: str) -> None:
    generate = KINDS[name].generate
    assert generate(10, seed=3) == generate(30, seed=3)[:10]
    assert generate(0, seed=3) == ()
    assert generate(5, seed=3) != generate(5, seed=4)
    assert len(set(map(content, texts(name)))) == 2000


@pytest.mark.parametrize(
    ("name", "damages"),
    [
        ("dialogues", "swap_turns replace_turn garble_words repeat_turn contradict_fact by_word_count"),
        ("concepts", "_odd _senseless"),
    ],
)
def test_texts_to_train_on_are_made_without_damages(monkeypatch: pytest.MonkeyPatch, name: str, damages: str) -> None:
    kind = KINDS[name]
    assert kind.rate is not None
    expected = kind.generate(20, seed=1)
    for damage in damages.split():
        monkeypatch.delattr(f"data.builtin.{name}.{damage}")
    assert kind.generate(20, seed=1) == expected
    with pytest.raises(NameError):
        kind.rate(20, seed=1)


@pytest.mark.parametrize("name", ["review", "news", "dialogues", "stories"])
def test_excluded_texts_do_not_come(name: str) -> None:
    kind = KINDS[name]
    first = kind.generate(20, seed=5)
    unwanted = {kind.key(first[i]) for i in (0, 7)}
    rest = kind.generate(18, seed=5, exclude=unwanted)
    assert not unwanted & set(map(kind.key, rest))
    if name in ("dialogues", "stories"):
        assert set(map(content, rest)) >= {content(e) for e in first if kind.key(e) not in unwanted}


@pytest.mark.parametrize("seed", SEEDS)
@RATED
def test_no_seed_trains_on_a_rated_text(name: str, seed: int, rated: Rated) -> None:
    key = KINDS[name].key
    train = {key(e) for e in (*texts(name), *KINDS[name].generate(1000, seed=0))}
    assert train.isdisjoint(map(key, rated(name, seed)))


@pytest.mark.parametrize("seed", SEEDS)
@RATED
def test_length_does_not_tell_the_quality(name: str, seed: int, rated: Rated) -> None:
    examples = rated(name, seed)
    for aspect in examples[0].ratings:
        quality = [e.ratings[aspect] for e in examples]
        assert abs(rho([len(e.full_text.split()) for e in examples], quality)) < 0.05
        assert abs(rho([len(e.full_text) for e in examples], quality)) < 0.1


@pytest.mark.parametrize(
    ("build", "name", "key"),
    [
        (builtin_reviews, "builtin_reviews", "text"),
        (builtin_news, "builtin_news", "text"),
        (builtin_dialogues, "builtin", "turns"),
        (builtin_stories, "builtin_stories", "context"),
        (builtin_concepts, "builtin_concepts", "text"),
        (builtin_verse, "builtin_verse", "text"),
    ],
)
def test_a_corpus_has_all_parts_and_no_text_is_in_two(build: Callable[..., Corpus], name: str, key: str) -> None:
    has_rated = build is not builtin_verse
    made = build(train=300, held_out=40, seed=2, **({"rated": 39} if has_rated else {}))
    assert (made.name, made.synthetic, len(made.train) + len(made.held_out)) == (name, True, 340)
    assert [(each.name, each.synthetic, len(each.examples)) for each in made.rated] == [(name, True, 39)] * has_rated
    parts = [made.train, made.held_out, *(each.examples for each in made.rated)]
    keys = [set(map(attrgetter(key), part)) for part in parts]
    assert len(keys[1]) == 40
    assert len(set.union(*keys)) == sum(map(len, keys))
    if build is builtin_news:
        assert list(made.labels) == sorted({str(e.label) for e in made.train})
        assert any(e.prefix is None for e in made.train)
        assert all(e.prefix for e in build(train=50, held_out=0, rated=4, verdicts=0.0).train)
