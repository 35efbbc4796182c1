"""The public sets: what an experiment reads of the shared copies, with the counts that are published with them."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from core.example import Example
from data.corpus import Corpus
from data.sets.commongen import commongen
from data.sets.ctrleval import ctrleval
from data.sets.public import RATED, public_corpus
from data.sets.songci import songci

TURNS, TEXT = attrgetter("turns"), attrgetter("text")
PAPER = ["topical_chat", "persona_chat"]
PREPARED = ["daily_dialog", "mutual", "dream", "meld", "schema_guided"]


HERE = [*RATED][[*RATED].index("newsroom") :]
HERE = [name for name in HERE if not name.startswith("mocha")]  # MOCHA's own file is placed by hand


@pytest.mark.parametrize(
    ("read", "key", "sizes", "rated"),
    [  # what no two parts share; training and held-out texts; of each rated set: first aspect, texts, inputs, systems
        (partial(public_corpus, HERE, plain_stories=True), TEXT, (3889, 433), {
            "newsroom": ("mean", 252, 36, 7),
            "summeval": ("relevance", 800, 50, 16),
            "semeval_mhpg": ("correctness", 300, 300, 1),
            "narrativeqa_mhpg": ("correctness", 500, 500, 1),
            "msmarco": ("correctness", 1000, 500, 1),
            "avsd": ("correctness", 1000, 444, 1),
            "mans_roc": ("overall", 1000, 200, 5),
        }),
        (commongen, attrgetter("group"), (39069, 991),
         dict.fromkeys(("trinity_raw", "trinity_binarized"), ("commonsense", 4491, 749, 1))),
        (songci, attrgetter("group"), (13527, 1946), {}),
        (partial(ctrleval, part="sentiment"), TEXT, (0, 0), {"ctrleval_sentiment": ("coherence", 360, 30, 1)}),
        (partial(public_corpus, ["fed", "convai2"], training_sets=PAPER, held_out_fraction=0), TURNS, (2846, 0),
         {"fed": ("coherence", 125, 1, 1), "convai2": ("overall", 1200, 1, 1)}),
        (partial(public_corpus, "dstc9", training_sets=PREPARED), TURNS, (13750, 1528),
         {"dstc9": ("coherence", 200, 1, 1)}),
    ],
)  # fmt: skip
def test_a_set_has_its_published_size_and_shares_nothing(
    shared_data: Path,
    read: Callable[[Path], Corpus],
    key: Callable[[Example], Any],
    sizes: tuple[int, int],
    rated: Mapping[str, tuple[str, int, int, int]],
) -> None:
    found = read(shared_data)
    assert (len(found.train), len(found.held_out), found.synthetic) == (*sizes, False)
    assert set(map(key, found.train)).isdisjoint(map(key, found.held_out))
    for each in found.rated:
        aspect, *counts = rated[each.name]
        groups, systems = ({getattr(e, name) for e in each.examples} for name in ("group", "system"))
        assert [len(each.examples), len(groups), len(systems)] == counts
        assert {next(iter(e.ratings)) for e in each.examples} == {aspect}
    assert [each.name for each in found.rated] == list(rated)
