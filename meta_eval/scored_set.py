"""ScoredSet: examples, their ratings and their scores by metric, from which tables, tests and plots are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from core.errors import check_names
from core.example import Example
from core.scores import Scores
from meta_eval.cues import Cues, count_cues
from meta_eval.design import Floats, Indices, Layout, Mask, lay_out

Location = tuple[Path | str, int]  # a file and a line, or the name of a set and a position


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """Examples, with or without ratings, and their scores by metric. All arrays have the shape (n,).

    Raises ValueError when a metric does not have one score per example.
    """

    name: str
    examples: tuple[Example, ...]
    scores: Mapping[str, Scores] = field(default_factory=dict)
    # whether this project generated the examples and their ratings
    synthetic: bool = False
    # the file and line of each example; of texts in memory empty, or the name of the set and the position
    places: tuple[Location, ...] = ()
    # the ratings of each person, (raters, n), of an aspect that several people rated one by one; a missing one is NaN
    raters: Mapping[str, Floats] = field(default_factory=dict)
    # how the examples were read, in sentences: the tool, the numbers of words, joined rows
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.examples)
        for metric, scores in self.scores.items():
            if len(scores) != n:
                raise ValueError(f"one score per example, but {metric} has {len(scores)} for {n} of {self.name}")

    def __len__(self) -> int:
        return len(self.examples)

    def locate(self, i: int) -> Location:
        """Returns the file and line of an example; in memory the name of the set and the position, counted from 1."""
        if self.places:
            return self.places[i]
        return self.name, i + 1

    @cached_property
    def signatures(self) -> list[str]:
        """The name and the signature of every metric."""
        return [f"{name}: {scores.signature}" for name, scores in self.scores.items()]

    @cached_property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that some example is rated for, in the order of their first ratings."""
        aspects = chain.from_iterable(example.ratings for example in self.examples)
        return tuple(dict.fromkeys(aspects))

    @cached_property
    def _ratings(self) -> dict[str, Floats]:
        columns = {}
        for aspect in self.aspects:
            ratings = [example.ratings.get(aspect, np.nan) for example in self.examples]
            columns[aspect] = np.array(ratings)
        return columns

    def ratings(self, aspect: str) -> Floats:
        """Returns the ratings of an aspect, of shape (n,); NaN for an example without a rating."""
        if aspect not in self.aspects:
            return np.full(len(self), np.nan)
        return self._ratings[aspect]

    def values(self, metric: str, aspect: str) -> Floats:
        """Returns the scores of a metric for an aspect, or for its first aspect if it does not score this one.

        NaN for an example that could not be scored.
        """
        values = self.scores[metric].values
        if aspect in values:
            return values[aspect]
        return next(iter(values.values()))

    def scored(self, *metrics: str, aspect: str) -> Mask:
        """Returns a mask of the examples that all of these metrics scored."""
        columns = [self.values(metric, aspect) for metric in metrics]
        lacks_score = np.isnan(columns).any(axis=0)
        return np.asarray(~lacks_score)

    @cached_property
    def systems(self) -> list[str] | None:
        """The systems that wrote the examples; None unless each example names its system."""
        named = [example.system for example in self.examples if example.system is not None]
        if len(named) < len(self):
            return None
        return named

    @cached_property
    def groups(self) -> list[str] | None:
        """The input that each example answers; an example that names no input has its own.

        None if no example names an input.
        """
        groups = [example.group for example in self.examples]
        if all(group is None for group in groups):
            return None
        return [f"\0{i}" if group is None else group for i, group in enumerate(groups)]

    @cached_property
    def layout(self) -> Layout:
        """Systems and inputs of the examples as numbers: one system if none are named, and an input for each text."""
        return lay_out(len(self), self.systems, self.groups)

    @cached_property
    def cues(self) -> Cues:
        """The cheap cues of the examples."""
        return count_cues(self.examples)

    def rated(self, aspect: str) -> Self:
        """Returns the set of the examples that are rated for an aspect."""
        is_rated = ~np.isnan(self.ratings(aspect))
        if is_rated.all():
            return self
        return self.take(np.flatnonzero(is_rated))

    def by_system(self) -> Iterator[ScoredSet]:
        """Yields the examples of each system, as a set named after it; nothing unless several systems are named."""
        systems = self.systems or []
        names = dict.fromkeys(systems)
        if len(names) < 2:
            return
        for system in names:
            indices = [i for i, name in enumerate(systems) if name == system]
            yield self.take(indices, system)

    def take(self, indices: Sequence[int] | Indices, name: str | None = None) -> Self:
        """Returns the set of the examples at these indices."""
        kept = list(indices)
        return replace(
            self,
            name=name or self.name,
            examples=tuple(self.examples[i] for i in kept),
            scores={metric: scores.take(kept) for metric, scores in self.scores.items()},
            places=tuple(self.locate(i) for i in kept),
            raters={aspect: ratings[:, kept] for aspect, ratings in self.raters.items()},
        )

    def choose(self, metrics: Collection[str]) -> ScoredSet:
        """Returns the set with the scores of these metrics only; names without scores are ignored."""
        chosen = {metric: scores for metric, scores in self.scores.items() if metric in metrics}
        return replace(self, scores=chosen)

    def negate(self, lower_is_better: Collection[str]) -> ScoredSet:
        """Negates the scores of these metrics, so that higher is better, and adds `(negated)` to their names.

        Raises SettingError for a name without scores.
        """
        check_names(lower_is_better, self.scores, "lower_is_better")
        directed: dict[str, Scores] = {}
        for metric, scores in self.scores.items():
            if metric not in lower_is_better:
                directed[metric] = scores
                continue
            negated: dict[str, Floats] = {}
            for aspect, values in scores.values.items():
                negated[aspect] = -values
            directed[name_negated(metric)] = replace(scores, values=negated)
        return replace(self, scores=directed)

    def split_aspects(self) -> ScoredSet:
        """Returns the set with one aspect per metric; a metric with several becomes several, `metric/aspect`."""
        split = {}
        for metric, scores in self.scores.items():
            for aspect, values in scores.values.items():
                name = metric if len(scores.values) == 1 else f"{metric}/{aspect}"
                split[name] = replace(scores, values={aspect: values})
        return replace(self, scores=split)


def name_negated(metric: str) -> str:
    """Names the negated scores of a metric of which lower is better."""
    return f"{metric} (negated)"
