"""Exchanged concepts: nothing is lost, and the degraded distribution over the candidates draws which."""

import numpy as np
import pytest

from cdm.concepts import (
    Question,
    exchange_concepts,
    find_exchanges,
    find_known,
    find_mentions,
    share_that_lose_concepts,
    weigh,
)
from cdm.cues import TOLERANCE, measure_cues
from cdm.infilling import SEPARATOR, Pair
from cdm.negatives import Negatives
from cdm.sampling import Sampling
from data.builtin.concepts import generate_concept_sentences
from tests.toy_models import toy_pair

TEXTS = [example.turns for example in generate_concept_sentences(40, seed=0)]
TRAINING = [example.turns for example in generate_concept_sentences(3000, seed=1)]
KNOWN = find_known(TRAINING)


@pytest.fixture(scope="module")
def pair() -> Pair:
    return toy_pair([turn for turns in TEXTS for turn in turns], prompt_turns=1)


def test_concepts_exchange_only_into_words_of_the_training_text() -> None:
    turns = ("actor, dance, sing", "actors danced and singing")
    known = {"actors", "danced", "singing", "dancing"}
    assert find_exchanges(turns, known) == {}  # "singed" is unknown, and so are "actored" and "dances"
    found = find_exchanges(turns, known | {"singed"})
    assert {here.concept: [m.concept for m in others] for here, others in found.items()} == {
        "dance": ["sing"],
        "sing": ["dance"],
    }
    assert find_exchanges(turns[1:], known | {"singed"}) == {}


def test_every_negative_mentions_the_same_concepts_elsewhere(pair: Pair) -> None:
    found = exchange_concepts(pair, TEXTS, KNOWN, Sampling(gamma=0.5), seed=0)
    assert len(found.indices) > 30
    one = exchange_concepts(pair, [TEXTS[0], ("cat, dog", "cats run")], KNOWN | {"cats"}, Sampling(gamma=0.5), seed=0)
    assert (one.indices, one.failures) == ((0,), 1)
    assert found.failures == 40 - len(found.indices)
    for positive, negative in zip(found.positives, found.negatives, strict=True):
        concepts = positive[0].split(", ")
        assert negative[0] == positive[0]
        before, after = (
            {m.concept: m.place for m in find_mentions(concepts, t[1].split())} for t in (positive, negative)
        )
        assert before.keys() == after.keys()
        assert sum(before[concept] != after[concept] for concept in before) == 2
        assert len(positive[1].split()) == len(negative[1].split())
    cues = measure_cues(found, TRAINING)
    assert all(abs(auc - 0.5) <= TOLERANCE for auc in cues.values()), cues
    assert exchange_concepts(pair, TEXTS, KNOWN, Sampling(gamma=0.5), seed=0) == found
    assert exchange_concepts(pair, TEXTS, KNOWN, Sampling(gamma=0.5), seed=1) != found


def test_the_shares_are_equation_4_over_the_candidates(pair: Pair) -> None:
    words = ("the", "farmer", "waters", "plants", "near", "the", "barn")
    here, *others = find_mentions(["farmer", "plant", "barn"], words)
    asked = Question("farmer, plant, barn", words, here, others)

    def log_p(lm) -> np.ndarray:  # type: ignore[no-untyped-def]
        found = []
        for other in ("plant", "barn"):
            texts = ["farmer, plant, barn", "the", " waters plants near the barn", f" {other}"]
            concepts, before, after, segment = (
                lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts
            )
            infilling, separator = pair.infilling, lm.tokenizer.get_vocab()[SEPARATOR]
            source = infilling.read([*concepts, separator, *before], after)
            [row] = lm.log_probabilities([(source, infilling.target(segment))], given=len(infilling.opening))
            found.append(row.sum())
        return np.array(found)

    amateur, expert = log_p(pair.amateur), log_p(pair.expert)
    for gamma, temperature in ((0.0, 1.0), (-1.0, 1.0), (0.7, 2.0)):
        expected = np.exp((amateur - gamma * (expert - amateur)) / temperature)
        [shares] = weigh(pair, [asked], Sampling(gamma=gamma, temperature=temperature))
        np.testing.assert_allclose(shares, expected / expected.sum(), rtol=1e-4)
    [uniform] = weigh(pair, [asked], Sampling(temperature=1e9))
    np.testing.assert_allclose(uniform, [0.5, 0.5], atol=1e-6)


def test_a_negative_loses_a_concept_that_its_positive_mentions() -> None:
    """The first negative loses `ball`; the second exchanges both; the third never had `cat`."""
    concepts = ("dog, ball", "dog, ball", "dog, cat")
    positives = tuple(zip(concepts, ("a dog has balls", "a dog has balls", "the dog runs"), strict=True))
    negatives = tuple(zip(concepts, ("a dog has fun", "a ball has dogs", "the dog sits"), strict=True))
    assert share_that_lose_concepts(Negatives(positives, negatives, (0, 1, 2), 0)) == pytest.approx(1 / 3)
