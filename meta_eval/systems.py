"""Comparison of two systems on the same inputs: paired bootstrap, approximate randomisation, wins and effect.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", for the paired bootstrap; Riezler &
Maxwell (2005), "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT", for approximate
randomisation, which swaps the two outputs of an input.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import Estimate
from meta_eval.correlation import Floats
from meta_eval.grouping import lay_out
from meta_eval.intervals import Resampling, bootstrap_p_value, grouped_bootstrap

BATCH = 4_000_000  # maximum number of signs in memory


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
        randomisation_p: two-sided p of approximate randomisation, (b + 1)/(m + 1).
        bootstrap_p: two-sided p of the paired bootstrap.
        reason: why numbers are NaN, else None.
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
    wrong shapes and infinite scores.
    """
    a, b = np.asarray(scores_a, dtype=np.float64), np.asarray(scores_b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"scores_a and scores_b must have one shape (inputs,), but have {a.shape} and {b.shape}")
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("scores must be finite, or NaN where there is none")
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

    def mean(x: Floats, weights: Floats) -> Floats:
        return weights @ x / weights.sum(axis=-1)

    def effect(_: Floats, weights: Floats) -> Floats:
        weights = weights[:, layout.inputs]
        means = mean(gap, weights)
        spread = np.sqrt(np.maximum(mean(gap**2, weights) - means**2, 0.0) * n / (n - 1))
        return np.divide(means, spread, out=np.full(len(means), np.nan), where=spread > 1e-12 * np.abs(gap).max())

    difference, values = grouped_bootstrap(lambda _, w: mean(gap, w[:, layout.inputs]), layout, resampling)
    win_rate, _ = grouped_bootstrap(lambda _, w: mean((np.sign(gap) + 1) / 2, w[:, layout.inputs]), layout, resampling)
    if np.ptp(gap) == 0:
        standard = Estimate.undefined(f"all differences are {gap[0]:g}: there is no spread")
    else:
        standard, _ = grouped_bootstrap(effect, layout, resampling)
    return SystemComparison(
        n=n,
        missing=missing,
        difference=difference,
        effect=standard,
        win_rate=win_rate,
        wins=wins,
        ties=ties,
        losses=losses,
        randomisation_p=randomisation_p(
            np.bincount(layout.inputs, gap).astype(np.float64), permutations, resampling.seed
        ),
        bootstrap_p=bootstrap_p_value(values) if len(values) else math.nan,
        reason=difference.reason,
    )


def randomisation_p(differences: Floats, permutations: int, seed: int) -> float:
    """Two-sided p-value of paired `differences`, of shape (n,), by random sign flips: (b + 1)/(m + 1)."""
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, but is {permutations}")
    rng, batch, beyond = np.random.default_rng(seed), max(1, BATCH // len(differences)), 0
    observed = (
        abs(differences.sum()) - 1e-10 * np.abs(differences).sum()
    )  # tolerance: the order of a sum changes its rounding
    for start in range(0, permutations, batch):
        kept = rng.integers(0, 2, (min(batch, permutations - start), len(differences)), dtype=np.int8)
        beyond += int((np.abs(2 * (kept @ differences) - differences.sum()) >= observed).sum())
    return (beyond + 1) / (permutations + 1)
