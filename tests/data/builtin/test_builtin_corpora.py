"""All built-in corpora: their bytes, no text on two sides, no damage in training, no quality told by the length."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.example import Example
from core.faults import SettingFault
from data.builtin import damage
from data.sets.builtin import SOURCES, TEXT, builtin_corpus
from tests.data.builtin.kinds import rate

DIGESTS = {  # of 50 generated and of 40 rated texts
    "builtin": ("cdf56b08f78e794d", "0686111f1c402a59"),
    "builtin_stories": ("60bdb4a72063788f", "db61d89af530260b"),
    "builtin_concepts": ("5e609d74a309e1c0", "1b78f1ef7e753ec4"),
    "builtin_reviews": ("72c43c04383c6c42", "8a463efdbc455128"),
    "builtin_news": ("0fe8860fd13689f1", "345a359fa73fbc54"),
    "builtin_remarks": ("e7b53859aeb4803e", "91e0eb3656c5038f"),
    "builtin_verse": ("ff0323e63a9e8a4e",),
}
ALL = pytest.mark.parametrize("name", SOURCES)
RATED = pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.rate])
SEEDS = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])


@cache
def texts(name: str) -> tuple[Example, ...]:
    return SOURCES[name].generate(2000, seed=1)


def digest(examples: Sequence[Example]) -> str:
    plain = json.dumps([astuple(e)[:-1] for e in examples], default=dict)  # generated texts have no extra
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


@ALL
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    verdicts = {"verdicts": 0.5} if name in ("builtin_reviews", "builtin_news", "builtin_remarks") else {}
    rate = SOURCES[name].rate
    made = [SOURCES[name].generate(50, seed=1, **verdicts), *([rate(40, seed=1)] if rate else [])]
    assert tuple(map(digest, made)) == DIGESTS[name]


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
        in_words, in_characters = (abs(float(np.asarray(spearmanr(length, quality))[0])) for length in lengths)
        assert in_words < 0.05
        assert in_characters < 0.1


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
        with pytest.raises(SettingFault):
            builtin_corpus(**{"name": "builtin_remarks", "train": 3, "held_out": 2, **wrong})
