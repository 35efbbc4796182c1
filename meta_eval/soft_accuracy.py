"""Soft pairwise accuracy: does a metric separate systems as surely as people do?

Thompson, Mathur, Deutsch & Khayrallah (2024), "Improving Statistical Significance in Human Evaluation of Automatic
Metrics via Soft Pairwise Accuracy": 1 minus the mean distance, over pairs of systems, between the p-value of "system i
is better than system j" by ratings and the one by scores. Both p-values come from the same paired permutations.

A departure from the paper's program: a permutation whose sum equals the observed one counts half (mid-p; Lancaster
1961, "Significance Tests in Discrete Distributions"). The program counts it in full. Where ratings tie, its p-values of
"i is better than j" and "j is better than i" then add up to more than 1, and the result depends on the order of the
systems. `ties="published"` computes as the program does.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.bootstrap import FEWEST_UNITS, Estimate, Floats, explain_few, percentile_interval

Ties = Literal["mid", "published"]  # whether a permutation that equals the observed sum counts half or in full


def soft_pairwise_accuracy(
    ratings: ArrayLike,
    scores: ArrayLike,
    *,
    ties: Ties = "mid",
    permutations: int = 1000,
    resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Soft pairwise accuracy of `scores` with `ratings`, both of shape (systems, inputs); in [0, 1], higher is better.

    Only inputs for which every system has a rating and a score count (a missing one is NaN). The percentile interval is
    over inputs. The result does not depend on the order of the systems unless `ties` is published.
    """
    human, metric = np.asarray(ratings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if human.ndim != 2 or human.shape != metric.shape:
        raise ValueError(
            f"ratings and scores must have one shape (systems, inputs), but have {human.shape} and {metric.shape}"
        )
    if np.isinf(human).any() or np.isinf(metric).any():
        raise ValueError("ratings and scores must be finite, or NaN where there is none")
    complete = ~np.isnan(human + metric).any(axis=0)
    human, metric = human[:, complete], metric[:, complete]
    systems, inputs = human.shape
    if systems < 2 or inputs < 2:
        reason = (
            "soft pairwise accuracy needs at least 2 systems and 2 inputs that all of them answer, "
            f"but there are {systems} and {inputs}"
        )
        return Estimate.undefined(reason)
    for name, values in (("ratings", human), ("scores", metric)):
        if np.ptp(values) == 0:
            return Estimate.undefined(f"all {values.size} {name} are {values[0, 0]:g}: they order no systems")
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1.0, 1.0]), (permutations, inputs))
    value = _agreement(human, metric, signs, ties)
    if inputs < FEWEST_UNITS:
        return Estimate(value, math.nan, math.nan, explain_few("inputs", inputs))
    found = np.empty(resamples)
    for r in range(resamples):
        draw = rng.integers(0, inputs, inputs)
        found[r] = _agreement(human[:, draw], metric[:, draw], signs, ties)
    return Estimate(value, *percentile_interval(found, confidence))


def better_p_values(values: Floats, signs: Floats, ties: Ties = "mid") -> Floats:
    """The p-value that system i is better than system j, for each pair i < j in the order of `numpy.triu_indices`.

    It is the share of sign flips of the paired differences whose sum is above the observed one, plus half the share of
    those that equal it (all of it if `ties` is published). As in the paper's program this is b/m and not
    (b + 1)/(m + 1): it measures confidence and is not used as a test.

    Args:
        values: of shape (systems, inputs).
        signs: 1 or -1, of shape (permutations, inputs).
    """
    i, j = np.triu_indices(len(values), 1)
    observed = values.sum(axis=1)
    flipped = signs @ values.T
    beyond = (flipped[:, i] - flipped[:, j]) - (observed[i] - observed[j])
    slack = 1e-9 * np.abs(values).sum(axis=1).max()  # tolerance: the order of a sum changes its rounding
    above, equal = (beyond > slack).mean(axis=0), (np.abs(beyond) <= slack).mean(axis=0)
    return above + (equal / 2 if ties == "mid" else equal)


def _agreement(human: Floats, metric: Floats, signs: Floats, ties: Ties) -> float:
    return float(1 - np.abs(better_p_values(human, signs, ties) - better_p_values(metric, signs, ties)).mean())
