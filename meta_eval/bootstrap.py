"""Percentile bootstrap intervals of any statistic of weighted examples."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
BATCH = 4_000_000  # weights held at once: 32 MB


@dataclass(frozen=True)
class Estimate:
    """A number estimated from examples, and its bootstrap interval.

    Attributes:
        value: the statistic on all examples; NaN if it is undefined.
        low, high: the ends of the interval; NaN if it is undefined.
        reason: why one of them is NaN, else None.
    """

    value: float
    low: float
    high: float
    reason: str | None = None

    @classmethod
    def undefined(cls, reason: str) -> "Estimate":
        """An estimate of NaN with this reason."""
        return cls(math.nan, math.nan, math.nan, reason)


def number_groups(n: int, groups: Sequence[Hashable] | None) -> NDArray[np.intp]:
    """Numbers the groups of n examples for `units` of `bootstrap`; without groups, each example is a group.

    Raises ValueError unless each example has a group.
    """
    if groups is None:
        return np.arange(n)
    if len(groups) != n:
        raise ValueError(f"groups must name one group per example ({n}), but has {len(groups)}")
    if None in groups:
        raise ValueError(f"each example needs a group, but groups[{list(groups).index(None)}] is None")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.intp)


def bootstrap(
    statistics: Callable[[Floats], Mapping[str, Floats]],
    units: NDArray[np.intp],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimates statistics of weighted examples, by name; whole units are drawn with replacement.

    The weights of a resample say how often each example was drawn. The mean of x is then
    `weights @ x / weights.sum(1)`, a ratio of two sums is `(weights @ x) / (weights @ y)`, and the mean over seeds of x
    (examples, seeds) is `(weights @ x).mean(1) / weights.sum(1)`. Resamples and intervals equal those of
    `scipy.stats.bootstrap(..., paired=True, method="percentile")` with the same seed. Resamples on which a statistic is
    NaN are left out. If their share exceeds 1 - confidence, the interval is NaN.

    Args:
        statistics: takes weights of shape (resamples, n), returns for each name an array of shape (resamples,).
        units: the unit (the example itself, or its group) of each example, as `number_groups` numbers them.
        confidence: of the intervals.
        resamples: number of resamples.
        seed: the same seed gives the same intervals.

    >>> x = np.array([1.0, 2.0, 6.0])
    >>> bootstrap(lambda weights: {"mean": weights @ x / weights.sum(1)}, np.arange(3), resamples=200)["mean"]
    Estimate(value=3.0, low=1.0, high=6.0, reason=None)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but is {confidence}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, but is {resamples}")
    n = len(units)
    values = {name: float(found[0]) for name, found in statistics(np.ones((1, n))).items()}
    present, units = np.unique(units, return_inverse=True)
    number = len(present)
    if number < 2:
        reason = "all examples are in one group: an interval needs at least 2 groups"
        return {name: Estimate(value, math.nan, math.nan, reason) for name, value in values.items()}
    parts = list(resample(lambda weights: statistics(weights[:, units]), [number], [True], n, resamples, seed))
    return {
        name: _with_interval(value, np.concatenate([part[name] for part in parts]), confidence)
        for name, value in values.items()
    }


def resample(
    statistic: Callable[..., T], counts: Sequence[int], drawn: Sequence[bool], n: int, resamples: int, seed: int
) -> Iterator[T]:
    """Computes a statistic on resamples, in batches.

    Args:
        statistic: takes one array of weights, of shape (rows, count), per kind of unit.
        counts: number of units of each kind.
        drawn: whether units of a kind are drawn; otherwise each has a weight of one.
        n: number of examples that the statistic holds weights for; batches are as large as `BATCH` allows.
    """
    rng, batch = np.random.default_rng(seed), max(1, BATCH // n)
    for start in range(0, resamples, batch):
        rows = min(batch, resamples - start)
        yield statistic(
            *(
                draw_counts(rng, rows, count) if is_drawn else np.ones((rows, count))
                for count, is_drawn in zip(counts, drawn, strict=True)
            )
        )


def draw_counts(rng: np.random.Generator, resamples: int, units: int) -> Floats:
    """Draws how often each resample holds each unit; a resample has as many draws as there are units."""
    draws = rng.integers(0, units, (resamples, units)) + units * np.arange(resamples)[:, None]
    return np.bincount(draws.ravel(), minlength=resamples * units).reshape(resamples, units).astype(np.float64)


def percentile_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """The middle `confidence` of the resamples' values."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _with_interval(value: float, distribution: Floats, confidence: float) -> Estimate:
    defined = distribution[~np.isnan(distribution)]
    missing = len(distribution) - len(defined)
    if missing > (1 - confidence) * len(distribution):
        reason = f"{missing} of {len(distribution)} resamples are constant: too little variation for an interval"
        return Estimate(value, math.nan, math.nan, reason)
    return Estimate(value, *percentile_interval(defined, confidence))
