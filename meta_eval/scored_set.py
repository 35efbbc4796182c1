"""ScoredSet: examples, their ratings and their scores by metric, from which tables, tests and plots are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.scores import Scores
from meta_eval.bootstrap import Floats, Mask
from meta_eval.cues import Cues, count_cues
from meta_eval.grouping import Layout, lay_out


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
    places: tuple[tuple[Path | str, int], ...] = ()
    # the ratings of each person, (raters, n), of an aspect that several people rated one by one; a missing one is NaN
    raters: Mapping[str, Floats] = field(default_factory=dict)
    # how the examples were read, in sentences: the tool, the numbers of words, joined rows
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for metric, scored in self.scores.items():
            if len(scored) != len(self.examples):
                raise ValueError(
                    f"one score per example, but {metric} has {len(scored)} for {len(self.examples)} of {self.name}"
                )

    def __len__(self) -> int:
        return len(self.examples)

    def locate(self, i: int) -> tuple[Path | str, int]:
        """The file and line of an example; in memory the name of the set and the position, counted from 1."""
        return self.places[i] if self.places else (self.name, i + 1)

    @cached_property
    def signatures(self) -> list[str]:
        """The signature of every metric, behind its name."""
        return [f"{name}: {scored.signature}" for name, scored in self.scores.items()]

    @cached_property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that some example is rated for, in the order of their first ratings."""
        return tuple(dict.fromkeys(aspect for example in self.examples for aspect in example.ratings))

    @cached_property
    def _ratings(self) -> dict[str, Floats]:
        return {a: np.array([e.ratings.get(a, np.nan) for e in self.examples]) for a in self.aspects}

    def ratings(self, aspect: str) -> Floats:
        """The ratings of an aspect; NaN where an example has none."""
        return self._ratings[aspect] if aspect in self.aspects else np.full(len(self), np.nan)

    def values(self, metric: str, aspect: str) -> Floats:
        """The scores of a metric for an aspect; if it does not score the aspect by name, those of its first one.

        NaN where an example could not be scored.
        """
        values = self.scores[metric].values
        return values[aspect] if aspect in values else next(iter(values.values()))

    def scored(self, *metrics: str, aspect: str) -> Mask:
        """Whether all of these metrics score an example."""
        return np.asarray(~np.isnan([self.values(metric, aspect) for metric in metrics]).any(axis=0))

    @cached_property
    def systems(self) -> list[str] | None:
        """The systems that wrote the examples; None unless each names one."""
        named = [example.system for example in self.examples if example.system is not None]
        return named if len(named) == len(self) else None

    @cached_property
    def groups(self) -> list[str] | None:
        """The inputs that the examples answer; an example that names none has one of its own. None if none does."""
        names = [example.group for example in self.examples]
        if not any(name is not None for name in names):
            return None
        return [f"\0{i}" if name is None else name for i, name in enumerate(names)]

    @cached_property
    def layout(self) -> Layout:
        """Systems and inputs as numbers: one system if they are not named, and an input for each example."""
        return lay_out(len(self), self.systems, self.groups)

    @cached_property
    def cues(self) -> Cues:
        """The cheap cues of the examples."""
        return count_cues(self.examples)

    def rated(self, aspect: str) -> Self:
        """The examples that are rated for an aspect."""
        known = ~np.isnan(self.ratings(aspect))
        return self if known.all() else self.take(np.flatnonzero(known))

    def by_system(self) -> Iterator[ScoredSet]:
        """The examples of each system, as sets named after it; none unless several systems are named."""
        systems = self.systems or []
        if len(set(systems)) > 1:
            for system in dict.fromkeys(systems):
                yield self.take([i for i, name in enumerate(systems) if name == system], system)

    def take(self, at: Sequence[int] | NDArray[np.integer], name: str | None = None) -> Self:
        """The examples at these indices."""
        scores = {metric: scored.take(at) for metric, scored in self.scores.items()}
        return replace(
            self,
            name=name or self.name,
            examples=tuple(self.examples[i] for i in at),
            scores=scores,
            places=tuple(self.locate(i) for i in at),
            raters={aspect: ratings[:, list(at)] for aspect, ratings in self.raters.items()},
        )

    def choose(self, metrics: Collection[str]) -> ScoredSet:
        """The scores of some metrics; names without scores are left out."""
        return replace(self, scores={metric: found for metric, found in self.scores.items() if metric in metrics})

    def split_aspects(self) -> ScoredSet:
        """The same scores with one aspect per metric: a metric with several aspects becomes `metric/aspect`."""
        return replace(
            self,
            scores={
                metric if len(found.values) == 1 else f"{metric}/{aspect}": replace(found, values={aspect: values})
                for metric, found in self.scores.items()
                for aspect, values in found.values.items()
            },
        )
