"""ScoredSet: examples, their ratings and their scores by metric, from which tables, tests and plots are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from core.example import Example
from core.scores import Scores
from meta_eval.agreement import CHEAP_CUES, Agreement, agree
from meta_eval.bootstrap import Estimate, Floats
from meta_eval.cues import FOLDS, VERSION, Cues, agreement_beyond_cues, combine_cues, count_cues
from meta_eval.grouping import Layout, lay_out


class Rated(Protocol):
    """A set of examples with ratings."""

    @property
    def name(self) -> str: ...
    @property
    def examples(self) -> tuple[Example, ...]: ...
    @property
    def synthetic(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """Examples and their scores by metric. All arrays have the shape (n,), in the order of the examples.

    Attributes:
        name: in tables; a part of a set may have a name of its own.
        examples: with or without ratings; higher ratings are better.
        scores: by metric.
        synthetic: whether this project generated the examples and their ratings.
        has_cues: whether agreement beyond cheap cues is measured.

    Raises ValueError when a metric does not have one score per example.
    """

    name: str
    examples: tuple[Example, ...]
    scores: Mapping[str, Scores]
    synthetic: bool = False
    has_cues: bool = True

    def __post_init__(self) -> None:
        for metric, scored in self.scores.items():
            if len(scored) != len(self.examples):
                raise ValueError(
                    f"one score per example, but {metric} has {len(scored)} for {len(self.examples)} of {self.name}"
                )

    @classmethod
    def of(cls, rated: Rated, scores: Mapping[str, Scores]) -> ScoredSet:
        """A rated set with its scores."""
        return cls(rated.name, rated.examples, scores, rated.synthetic)

    def __len__(self) -> int:
        return len(self.examples)

    def locate(self, i: int) -> tuple[Path | str, int]:
        """The file and line of an example in messages; in memory the name of the set and the place, counted from 1."""
        return self.name, i + 1

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

    def scored(self, *metrics: str, aspect: str) -> NDArray[np.bool_]:
        """Whether all of these metrics score an example."""
        return np.asarray(~np.isnan([self.values(metric, aspect) for metric in metrics]).any(axis=0))

    @cached_property
    def systems(self) -> list[str] | None:
        """The systems that wrote the examples; None unless each names one."""
        return _all_named([example.system for example in self.examples])

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
    def word_counts(self) -> Floats:
        """The numbers of words."""
        return np.array([example.word_count for example in self.examples], dtype=np.float64)

    @cached_property
    def agreement(self) -> tuple[Agreement, ...]:
        """The agreement of every metric with every rated aspect that it scores.

        Scores and ratings are matched by the name of the aspect. A metric with a single aspect is compared with every
        rated aspect. Examples without a rating for an aspect do not count in it.

        Raises ValueError when a metric shares no aspect with the ratings.
        """
        rows = [agree(self, metric, aspect) for metric in self.scores for aspect in self._compared(metric)]
        if not self.has_cues:
            return tuple(rows)
        beyond = {aspect: self.beyond_cues(aspect) for aspect in self.aspects}
        return tuple(replace(row, beyond_cues=beyond[row.aspect][row.metric]) for row in rows)

    @cached_property
    def cues(self) -> Cues:
        """The cheap cues of the examples."""
        return count_cues(self.examples)

    def beyond_cues(
        self, aspect: str, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
    ) -> dict[str, Estimate]:
        """The agreement of every metric with the ratings of an aspect that cheap cues do not explain.

        Intervals draw inputs `resamples` times, from `seed` on.
        """
        scores = {metric: self.values(metric, aspect) for metric in self.scores if metric != CHEAP_CUES}
        found = agreement_beyond_cues(
            scores,
            self.ratings(aspect),
            self.cues,
            self.groups,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
        return {CHEAP_CUES: Estimate.undefined("these are the cues"), **found}

    def add_cheap_cues(self, seed: int = 0) -> ScoredSet:
        """The set with the scores `cheap_cues`: its ratings predicted by cheap cues alone, cross-fitted by input.

        The set itself if it has too few rated examples for its cues, or if no cue differs between them.
        """
        values: dict[str, Floats] = {}
        for aspect in self.aspects:
            known = ~np.isnan(self.ratings(aspect))
            rated = self.rated(aspect)
            if not rated.cues.can_be_fitted:
                return self
            values[aspect] = np.full(len(self), np.nan)
            values[aspect][known] = combine_cues(rated.cues, rated.ratings(aspect), rated.groups, seed=seed)
        is_rated = [len(example.ratings) == len(self.aspects) for example in self.examples]
        reasons = [None if every else "not rated for every aspect" for every in is_rated]
        line = f"{CHEAP_CUES}|version={VERSION}|folds={FOLDS}|seed={seed}|cues={len(self.cues.names)}"
        return replace(self, scores={**self.scores, CHEAP_CUES: Scores(values, line, reasons)}) if values else self

    def by_metric(self, aspect: str) -> dict[str, Agreement]:
        """The agreement with the ratings of one aspect."""
        return {row.metric: row for row in self.agreement if row.aspect == aspect}

    def _compared(self, metric: str) -> list[str]:
        own = self.scores[metric].values
        compared = [aspect for aspect in self.aspects if aspect in own or len(own) == 1]
        if self.aspects and not compared:
            raise ValueError(
                f"{metric} must score a rated aspect, but it scores {', '.join(own)} and {self.name} is "
                f"rated for {', '.join(self.aspects)}"
            )
        return compared

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
        return replace(self, name=name or self.name, examples=tuple(self.examples[i] for i in at), scores=scores)

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


def _all_named(names: Sequence[str | None]) -> list[str] | None:
    named = [name for name in names if name is not None]
    return named if len(named) == len(names) else None
