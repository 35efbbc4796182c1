"""Earth mover's distance, SentenceMover and MoverScore: by hand, by their definitions, and what is cut."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.mover_score import MoverScore
from baselines.sentence_mover import UNKNOWN, SentenceMover, move
from core.example import Example
from data.documents import DocumentFrequencies
from data.words import RUNS
from models.encoders import WordVectors, load_encoder

masses = st.lists(st.floats(0.1, 1.0), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(masses, masses, st.integers(0, 2**32 - 1))
def test_the_cost_of_moving_on_a_line_is_the_area_between_the_sums(
    ours: list[float], theirs: list[float], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    supply, demand = np.array(ours) / sum(ours), np.array(theirs) / sum(theirs)
    x, y = generator.uniform(0, 5, len(ours)), generator.uniform(0, 5, len(theirs))
    found = move((supply, x[:, None]), (demand, y[:, None]))
    points = np.sort(np.concatenate([x, y]))
    gaps = [abs(supply[x <= a].sum() - demand[y <= a].sum()) * (b - a) for a, b in pairwise(points)]
    assert found == pytest.approx(sum(gaps), abs=1e-6)


def test_sentence_mover_by_hand() -> None:
    """Sentences (1.5, 0) of 2 words and (0, 4) of 1 word against (0, 0) of 1 word: 2/3 * 1.5 + 1/3 * 4."""
    words, table = {"the": 0, "cat": 1, "sat": 2}, np.array([[0, 0], [3, 0], [0, 4]], np.float32)
    vectors = WordVectors(words, table, "toy", lambda text: RUNS.findall(text.lower()))
    metric = SentenceMover(vectors)
    examples = [
        Example("a", "The cat. Sat!", references=("the",)),
        Example("b", "The cat. Sat!", references=("the", "Sat. The cat!")),
        Example("c", "unheard", references=("the",)),
        Example("d", "the unheard cat", references=("cat the",)),
    ]
    found = metric.score(examples)
    np.testing.assert_allclose(found.values["quality"], [math.exp(-(2 / 3 * 1.5 + 4 / 3)), 1.0, np.nan, 1.0], rtol=1e-6)
    assert found.reasons[2] == UNKNOWN
    assert found.dropped_tokens == (0, 0, 1, 1)
    assert found.notes == ()
    long = SentenceMover(replace(vectors, table=10 * vectors.table)).score(examples[:1])
    assert long.notes[0].startswith("sentence_mover: most scores are below 0.001: the encoder's vectors are long")


def test_mover_score_by_its_definition(bert: Path) -> None:
    """The references of the call weigh the tokens: `the` and the full stop are in both of them, other tokens in one."""
    examples = [Example("a", "the cat sat", references=("cat the.",)), Example("b", "the", references=("the mat.",))]
    metric = MoverScore.from_pretrained(str(bert), layers=2)
    found = metric.score(examples)
    model, tokenizer = load_encoder(str(bert))

    def embed(text: str) -> np.ndarray:
        with torch.no_grad():
            read = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        one, two = (states[0, 1:-1].double().numpy() for states in read.hidden_states[-2:])
        joined = np.concatenate([np.minimum(one, two), (one + two) / 2, np.maximum(one, two)], axis=1)
        return joined / np.linalg.norm(joined, axis=1, keepdims=True)

    both, first, none = map(DocumentFrequencies(2, {"both": 2, "first": 1}, "").idf, ("both", "first", "none"))
    supply, demand = np.array([both, first, none]), np.array([first, both, both])
    distance = move((supply, embed("the cat sat")), (demand, embed("cat the.")))
    assert found.values["quality"][0] == pytest.approx(1 / (1 + distance), abs=1e-6)
    assert metric.score([Example("c", "the cat", references=("the cat",))]).values["quality"] == pytest.approx([1.0])
    fixed = replace(metric, documents=["cat"])
    assert found.signature != metric.score(examples[:1]).signature  # other references weigh the tokens
    assert fixed.score(examples).signature == fixed.score(examples[:1]).signature
