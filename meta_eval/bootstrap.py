"""Percentile bootstrap intervals of any statistic of weighted examples.

The intervals are Hesterberg's expanded percentile intervals ("What Teachers Should Know About the Bootstrap", 2015).
Plain percentiles of few units are too narrow, as a normal interval is in place of Student's t. With fewer than
`FEWEST_UNITS` units there is no interval: in simulations with 20, those of rank correlations cover up to .99.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from meta_eval.design import Floats, Indices
from meta_eval.estimates import BATCH, CONFIDENCE, NO_SPREAD, Estimate, t_quantile

FEWEST_UNITS = 30  # drawn units; with fewer, not all intervals at 95 % cover 93 to 97 % in simulations


def bootstrap(
    statistics: Callable[[Floats], Mapping[str, Floats]],
    units: Indices,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimates statistics of weighted examples, by name; whole units are drawn with replacement.

    `statistics` takes weights of shape (resamples, n), which say how often each example was drawn, and returns for each
    name an array of shape (resamples,). `units` holds the unit of each example, as `number_groups` numbers them.
    Resamples equal those of `scipy.stats.bootstrap(..., paired=True, method="percentile")` with the same seed, and
    intervals equal its intervals at the confidence of `expand_confidence`.

    >>> x = np.arange(31.0)
    >>> bootstrap(lambda weights: {"mean": weights @ x / weights.sum(1)}, np.arange(31), resamples=200)["mean"].value
    15.0
    """
    n = len(units)
    once = np.ones((1, n))
    values = {name: float(column[0]) for name, column in statistics(once).items()}
    present, unit_of_example = np.unique(units, return_inverse=True)
    number = len(present)
    if number < FEWEST_UNITS:
        reason = explain_few("groups" if number < n else "examples", number)
        return {name: Estimate.undefined(reason, value) for name, value in values.items()}

    def compute(unit_weights: Floats) -> Floats:
        """The statistics of drawn units, of shape (resamples, statistics)."""
        columns = statistics(unit_weights[:, unit_of_example])
        return np.stack([*columns.values()], axis=-1)

    drawn = resample(
        compute,
        number,
        n,
        resamples=resamples,
        seed=seed,
    )
    estimates = {}
    for (name, value), column in zip(values.items(), drawn.T, strict=True):
        estimates[name] = estimate_from(value, column, number)
    return estimates


def estimate_ratio(
    numerators: Floats,
    denominators: Floats,
    units: Indices,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Estimates the sum of `numerators` divided by the sum of `denominators`; all arrays have the shape (n,)."""

    def divide(weights: Floats) -> dict[str, Floats]:
        return {"ratio": (weights @ numerators) / (weights @ denominators)}

    estimates = bootstrap(
        divide,
        units,
        resamples=resamples,
        seed=seed,
    )
    return estimates["ratio"]


def estimate_perplexity(
    nll: Floats,
    tokens: Floats,
    units: Indices,
    *,
    seed: int = 0,
) -> Estimate:
    """Estimates perplexity: exp of the mean negative log-probability of a token; lower is more likely.

    `nll` are negative log-probabilities of the texts in nats, `tokens` their numbers of tokens, of shape (n,).
    """
    loss = estimate_ratio(
        nll,
        tokens,
        units,
        seed=seed,
    )
    return Estimate(
        value=math.exp(loss.value),
        low=math.exp(loss.low),
        high=math.exp(loss.high),
        reason=loss.reason,
    )


def resample(
    statistic: Callable[[Floats], Floats],
    units: int,
    n: int,
    resamples: int,
    seed: int,
) -> Floats:
    """Draws resamples of units, and computes a statistic of their weights, of shape (rows, units).

    The first axis of the result has the resamples. They are computed in batches, as large as `BATCH` allows.
    """
    rng = np.random.default_rng(seed)
    batch = max(1, BATCH // n)
    blocks = []
    for start in range(0, resamples, batch):
        rows = min(batch, resamples - start)
        numbers = rng.integers(0, units, (rows, units))
        # one bincount for all rows: each row's units have numbers of their own
        first_numbers = units * np.arange(rows)
        numbers += first_numbers[:, None]
        counts = np.bincount(numbers.ravel(), minlength=rows * units)
        weights = counts.reshape(rows, units).astype(np.float64)
        blocks.append(statistic(weights))
    return np.concatenate(blocks)


def estimate_from(
    value: float,
    values: Floats,
    units: int,
) -> Estimate:
    """Makes an Estimate of a value, with the expanded percentile interval of `values` on resamples of `units` units.

    Resamples on which the statistic is NaN are left out. If their share exceeds 1 - `CONFIDENCE`, the interval is NaN.
    """
    defined = values[~np.isnan(values)]
    missing = len(values) - len(defined)
    if missing > (1 - CONFIDENCE) * len(values):
        reason = f"not defined on {missing} of {len(values)} resamples: too little variation for an interval"
        return Estimate.undefined(reason, value)
    outside = (1 - expand_confidence(units)) / 2
    low, high = np.quantile(defined, [outside, 1 - outside])
    return _make_estimate(value, float(low), float(high))


def expand_confidence(units: int) -> float:
    """Finds the confidence at which percentiles of resamples of so many units are as wide as Student's t interval.

    For a mean, resamples vary too little, by the factor sqrt((n - 1)/n), and normal quantiles are too small for an
    estimated variance (Hesterberg 2015).

    >>> round(expand_confidence(30), 3), round(expand_confidence(1000), 3)
    (0.962, 0.95)
    """
    from scipy.special import ndtr  # takes longer to import than many runs, which need no interval

    quantile = t_quantile(units - 1) * math.sqrt(units / (units - 1))
    return 2 * float(ndtr(quantile)) - 1


def t_interval(
    value: float,
    variance: float,
    freedom: float,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Makes the estimate of a value with this variance: Student's t interval."""
    half_width = t_quantile(freedom, confidence) * math.sqrt(variance)
    return _make_estimate(value, value - half_width, value + half_width)


def _make_estimate(
    value: float,
    low: float,
    high: float,
) -> Estimate:
    has_no_spread = math.isclose(low, high, rel_tol=1e-12)
    reason = NO_SPREAD if has_no_spread else None
    return Estimate(value, low, high, reason)


def explain_few(
    units: str,
    number: int,
    fewest: int = FEWEST_UNITS,
) -> str:
    """Returns the reason why there is no interval over so few units."""
    return f"an interval over {units} needs at least {fewest} of them, but there are {number}"
