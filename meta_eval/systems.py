"""Comparison of two systems on the same inputs: paired bootstrap, randomisation, wins and effect.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap; Riezler &
Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", for randomisation, which
swaps the two outputs of an input: all swaps of few inputs, random swaps of many.

Below `FEWEST_UNITS` inputs the mean has Student's t interval, and there is no bootstrap p-value and no interval for the
effect. The win rate has Tango's score interval, which is Wilson's where nothing ties. Simulated coverage is in
tests/meta_eval/test_null_simulations.py.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import BATCH, Estimate, Floats, to_columns
from meta_eval.grouping import Layout, lay_out
from meta_eval.intervals import (
    FEWEST_UNITS,
    Resampling,
    bootstrap_p_value,
    grouped_bootstrap,
    jackknife_interval,
    mean_interval,
    share_interval,
    standardised_mean,
)

MOST_ENUMERATED = 15  # inputs (or groups) whose swaps are all counted: 2**15


@dataclass(frozen=True)
class SystemComparison:
    """Two systems on the same inputs, under one metric or by one kind of rating. Positive where a is higher.

    Attributes:
        n: number of inputs for which both systems have a score.
        missing: number of inputs left out because a score is NaN.
        difference: the mean of a - b.
        effect: the mean of a - b divided by its standard deviation (Cohen's d for pairs).
        win_rate: the share of inputs on which a is higher; ties count half.
        wins, ties, losses: numbers of inputs on which a is higher, equal, lower.
        randomisation_p: two-sided p of randomisation: exact up to `MOST_ENUMERATED` inputs, then (b + 1)/(m + 1).
        bootstrap_p: two-sided p of the paired bootstrap; NaN below `FEWEST_UNITS` inputs, or if all differences are
            equal.
        reason: why the difference or its interval is NaN, else None.
    """

    n: int
    missing: int
    difference: Estimate
    effect: Estimate
    win_rate: Estimate
    wins: int
    ties: int
    losses: int
    randomisation_p: float
    bootstrap_p: float
    reason: str | None = None


def compare_systems(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
    permutations: int = 10_000,
) -> SystemComparison:
    """Compares two systems' scores, both of shape (inputs,), pair by pair.

    With `groups` (one name per input, such as its document) whole groups are drawn and swapped. Raises ValueError for
    wrong shapes and for infinite or too large scores.
    """
    a, b = to_columns(scores_a=scores_a, scores_b=scores_b)
    resampling = resampling or Resampling()
    kept = ~np.isnan(a - b)
    gap = (a - b)[kept]
    wins, ties, losses = (int(count.sum()) for count in (gap > 0, gap == 0, gap < 0))
    named = None if groups is None else [name for name, keep in zip(groups, kept, strict=True) if keep]
    n, missing = len(gap), int((~kept).sum())
    if n < 2:
        reason = f"a comparison needs at least 2 inputs that both systems have a score for, but there are {n}"
        none = Estimate.undefined(reason)
        return SystemComparison(n, missing, none, none, none, wins, ties, losses, math.nan, math.nan, reason)
    layout = lay_out(n, inputs=named)
    difference, bootstrap_p = _mean_difference(gap, layout, resampling)
    if np.ptp(gap) == 0:
        standard = Estimate.undefined(f"all differences are {gap[0]:g}: there is no spread")
    else:
        standard = jackknife_interval(lambda w: standardised_mean(gap, gap, w), layout, resampling.confidence)
    return SystemComparison(
        n=n,
        missing=missing,
        difference=difference,
        effect=standard,
        win_rate=share_interval((np.sign(gap) + 1) / 2, layout, resampling.confidence),
        wins=wins,
        ties=ties,
        losses=losses,
        randomisation_p=randomisation_p(
            np.bincount(layout.inputs, gap).astype(np.float64), permutations, resampling.seed
        ),
        bootstrap_p=bootstrap_p,
        reason=difference.reason,
    )


def randomisation_p(differences: Floats, permutations: int, seed: int) -> float:
    """Two-sided p-value of paired `differences`, of shape (n,), by sign flips.

    Up to `MOST_ENUMERATED` differences it is exact: the share of all sign patterns whose sum is at least as large. For
    more it is (b + 1)/(m + 1) of m = `permutations` random patterns.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    n, total = len(differences), differences.sum()
    # tolerance: the order of a sum changes its rounding
    observed = abs(total) - 1e-10 * np.abs(differences).sum()
    if n <= MOST_ENUMERATED:
        sums = np.zeros(1)  # of every subset
        for each in differences:
            sums = np.concatenate([sums, sums + each])
        return float((np.abs(2 * sums - total) >= observed).mean())
    rng, batch, beyond = np.random.default_rng(seed), max(1, BATCH // n), 0
    for start in range(0, permutations, batch):
        kept = rng.integers(0, 2, (min(batch, permutations - start), n), dtype=np.int8)
        beyond += int((np.abs(2 * (kept @ differences) - total) >= observed).sum())
    return (beyond + 1) / (permutations + 1)


def _mean_difference(gap: Floats, layout: Layout, resampling: Resampling) -> tuple[Estimate, float]:
    """The mean difference with its interval, and the bootstrap p-value; NaN for few inputs and without spread."""
    if layout.input_count < FEWEST_UNITS or np.ptp(gap) == 0:
        return mean_interval(gap, layout, resampling.confidence), math.nan

    def mean(_: Floats, weights: Floats) -> Floats:
        weights = weights[:, layout.inputs]
        return weights @ gap / weights.sum(axis=-1)

    found, values = grouped_bootstrap(mean, layout, resampling)
    return found, bootstrap_p_value(values, layout.input_count)
