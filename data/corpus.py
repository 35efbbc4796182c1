"""Corpus: the training, held-out and rated texts of an experiment. Splits texts by content; refuses shared texts."""

import hashlib
import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

import numpy as np

from core.errors import SettingError
from core.example import Example
from core.scores import Scores
from core.settings import Share, check
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet

HELD_OUT_FRACTION = 0.1  # of the texts of a public set or of a user's own file

Content: TypeAlias = str | tuple[str, ...] | None
Key: TypeAlias = Callable[[Example], Content]
Parts: TypeAlias = tuple[tuple[Example, ...], tuple[Example, ...]]


@dataclass(frozen=True)
class Corpus:
    """The texts of an experiment."""

    # in tables
    name: str
    # texts or dialogues; empty if the set has none. Labelled texts have `label`, whole texts to continue have their
    # beginning as `context`, and poems have their tune as `prefix`
    train: tuple[Example, ...]
    # others of the same kind, for the held-out loss
    held_out: tuple[Example, ...]
    # texts that people rated, or that were damaged on purpose, with published scores; none is a training text
    rated: tuple[ScoredSet, ...]
    # whether the texts are generated and the ratings known by construction
    synthetic: bool
    # finds the table of word frequencies that was released with the texts, for CTRLEval; raises InputError, with
    # instructions, if it is missing
    iwf: Callable[[], Path] | None = None
    # of the training texts; "" where this project does not know it, as for a user's own files
    licence: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all texts in alphabetical order."""
        rated = [example for rated_set in self.rated for example in rated_set.examples]
        labels = {example.label for example in (*self.train, *self.held_out, *rated)}
        return tuple(sorted(label for label in labels if label is not None))


def score_published(name: str, published: Mapping[str, Sequence[float]]) -> dict[str, Scores]:
    """Makes Scores of the published scores of the set `name`, by metric in the set's order; a missing score is NaN."""
    scores: dict[str, Scores] = {}
    for metric, column in published.items():
        values = np.array(column)
        reasons = ["no published score" if missing else None for missing in np.isnan(values)]
        signature = f"{metric}|published beside {name}"
        scores[metric] = Scores({"published": values}, signature, reasons)
    return scores


def tabulate_raters(ratings: Iterable[Sequence[float]]) -> Floats:
    """Arranges the single ratings of each example for `ScoredSet.raters`: shape (raters, n), NaN where one is missing.

    >>> tabulate_raters([[1, 2], [3]]).tolist()
    [[1.0, 3.0], [2.0, nan]]
    """
    return np.array([*zip_longest(*ratings, fillvalue=math.nan)], dtype=np.float64)


def fold_text(text: str) -> str:
    """Removes case and spaces, in which copies of a text may differ."""
    return " ".join(text.split()).casefold()


def content_of(example: Example) -> Content:
    """The turns of a dialogue, or else the text: what copies of an example share."""
    return example.turns or example.text


def refuse_shared(rule: str, named: Iterable[tuple[str, Hashable]], others: Iterable[Hashable]) -> None:
    """Raises SettingError if the content of any pair (name, content) in `named` is also in `others`.

    `rule` is the message; its {} is replaced by the names of such pairs, at most five.
    """
    known = set(others)
    shared = [name for name, content in named if content in known]
    if shared:
        raise SettingError(rule.format(", ".join(shared[:5])))


def split_by(
    examples: Sequence[Example],
    key: Key,
    held_out: int,
    seed: int,
) -> Parts:
    """Splits examples into a training and a held-out part: the `held_out` keys with the smallest hashes are held out.

    Examples with the same key (a text, turns, a context, an input) are on the same side, for any order of the examples.

    >>> poems = [Example(t, text=t, group=t[0]) for t in ("ab", "ac", "b")]
    >>> [[e.text for e in part] for part in split_by(poems, lambda e: e.group, held_out=1, seed=1)]
    [['b'], ['ab', 'ac']]
    """

    def place(value: Content) -> bytes:
        return hashlib.sha256(json.dumps([seed, value]).encode()).digest()

    keys = {key(example) for example in examples}
    chosen = set(sorted(keys, key=place)[:held_out])
    train_part = tuple(example for example in examples if key(example) not in chosen)
    held_out_part = tuple(example for example in examples if key(example) in chosen)
    return train_part, held_out_part


def split_share(
    examples: Sequence[Example],
    key: Key,
    fraction: float,
    seed: int,
) -> Parts:
    """Works as `split_by`, but holds out a fraction, in [0, 1), of all different keys, rounded up."""
    check(Share, held_out_fraction=fraction)
    keys = {key(example) for example in examples}
    return split_by(
        examples,
        key,
        math.ceil(fraction * len(keys)),
        seed,
    )
