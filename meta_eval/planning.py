"""Planning: how large a study must be, and which difference it can detect.

Two systems differ by d in their mean ratings, two metrics in their correlations with ratings. Both have the power of a
t-test of n values with the mean d. For metrics, their deviation is that of the difference of two correlations of normal
variables with a third one (Pearson & Filon 1898). Spearman's rho of normal variables is 6/pi asin(r/2), and its
differences vary more than Pearson's: by the factor `COST` of n, found by simulation of the test of `judge agree`.

Where more than two systems, or metrics, are compared, a pair is tested at the level over the number of pairs
(Bonferroni). The product's step-down tests need no more, and a little less where scores are alike.

A mean label has the interval of `n` labels: Student's t times the root of their variance over n. Verdicts of a judge on
all texts explain the share r² of the variance of one label, where r is their correlation with labels (PPI++ of
Angelopoulos, Duchi & Zrnic 2023); (variance - explained)/n + explained/texts remains.

More raters make ratings more reliable (Spearman 1910, Brown 1910): the mean of k raters has reliability
k rho / (1 + (k - 1) rho), where rho is the correlation between two raters, which interval-scale Krippendorff's alpha
estimates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, nctdtr, stdtrit

from meta_eval.estimates import CONFIDENCE, FEWEST, t_quantile

LARGEST = 10_000_000  # the largest n of a plan
# examples for the test over those that normal variables need: 175 simulated texts in place of 155 for correlations
# of .4 and .2 (normal variables); ratings of 1 to 5 need about a tenth more
COST = 1.12


@dataclass(frozen=True)
class SampleSize:
    """The smallest number of inputs (or systems) with the required power."""

    # NaN if there is none below `LARGEST`, or if the assumptions contradict each other, as the reason says
    n: float
    power: float
    reason: str | None = None


@dataclass(frozen=True)
class Spread:
    """How much the paired differences of two systems vary."""

    # standard deviation between inputs of the mean difference over all possible raters
    inputs: float
    # standard deviation of one rater's difference around this mean. None if it is unknown; `inputs` is then the
    # standard deviation of one rater's differences, which holds both.
    raters: float | None
    # how many inputs with ratings of both systems it was estimated from; None if it is assumed
    pilot: int | None = None

    def of_mean(self, raters: int) -> float:
        """Computes the standard deviation of differences between means of `raters` raters.

        If the spread of raters is unknown, it is the standard deviation for one rater.
        """
        if self.raters is None:
            return self.inputs
        variance = self.inputs**2 + self.raters**2 / raters
        return math.sqrt(variance)


def find_deviation(r_a: float, r_b: float, r_ab: float) -> float:
    """Computes the deviation of a difference of two correlations of normal variables with a third, times the root of n.

    NaN if no three variables have these correlations.
    """
    truth = np.array([[1, r_a, r_b], [r_a, 1, r_ab], [r_b, r_ab, 1]])
    if np.abs(truth).max() > 1 or np.linalg.eigvalsh(truth)[0] <= 1e-12:
        return math.nan
    unexplained = 1 - r_a**2 - r_b**2
    covariance = r_ab * unexplained - r_a * r_b * (unexplained - r_ab**2) / 2
    return math.sqrt((1 - r_a**2) ** 2 + (1 - r_b**2) ** 2 - 2 * covariance)


def rank_correlation(r: float) -> float:
    """Computes Spearman's rho of two normal variables whose correlation is r (Pearson 1907).

    >>> round(rank_correlation(0.4), 3)
    0.385
    """
    return 6 / math.pi * math.asin(r / 2)


def n_to_tell_metrics(
    r_a: float,
    r_b: float,
    r_ab: float,
    *,
    metrics: int = 2,
    power: float = 0.8,
    level: float = 0.05,
) -> SampleSize:
    """Finds the number of examples by which Spearman's rho detects r_a - r_b, for one pair among `metrics` metrics.

    At system level it is a number of systems.
    """
    if r_a == r_b:
        return _no_size("the two correlations are equal, so there is no difference to detect")
    correlations = [rank_correlation(r) for r in (r_a, r_b, r_ab)]
    deviation = find_deviation(*correlations)
    if math.isnan(deviation):
        return _no_size(
            f"no variables have the correlations {r_a:g}, {r_b:g} with the ratings and {r_ab:g} with each other"
        )
    gap = correlations[0] - correlations[1]

    def power_at(n: int) -> float:
        return paired_power(gap, deviation, n, level / count_pairs(metrics))

    of_normal = _find_size(power_at, power, first=4)
    return of_normal if of_normal.reason else replace(of_normal, n=math.ceil(COST * of_normal.n))


def count_pairs(compared: int) -> int:
    """Counts the pairs among `compared` systems or metrics."""
    return compared * (compared - 1) // 2


def paired_power(
    d: float,
    spread: float,
    n: int,
    level: float = 0.05,
) -> float:
    """Computes the power of the two-sided paired t-test: n pairs, mean difference d, standard deviation `spread`."""
    freedom = n - 1
    critical = float(stdtrit(freedom, 1 - level / 2))
    shift = abs(d) / spread * math.sqrt(n)
    if shift > 30:  # far beyond any critical value; the non-central t would overflow
        return 1.0
    above = 1 - nctdtr(freedom, shift, critical)
    below = nctdtr(freedom, shift, -critical)
    return float(above + below)


def n_to_tell_systems(
    d: float,
    spread: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
) -> SampleSize:
    """Finds the number of inputs that the paired t-test needs to detect a difference d of mean ratings."""
    if d == 0:
        return _no_size("the difference is 0, so there is no difference to detect")

    def power_at(n: int) -> float:
        return paired_power(d, spread, n, level)

    return _find_size(power_at, power, first=2)


def n_for_width(
    within: float,
    variance: float,
    *,
    explained: float = 0.0,
    texts: float = math.inf,
) -> int | None:
    """Finds the number of labels for an interval of the half-width `within`; None if more than the `texts` are needed.

    `variance` is that of one label, of which a judge's verdicts on all texts explain a part. At least `FEWEST` labels
    are needed, because intervals need them.

    >>> n_for_width(0.1, 0.25), n_for_width(0.1, 0.25, explained=0.2)
    (99, 22)
    """

    def is_enough(n: int) -> bool:
        error = math.sqrt((variance - explained) / n + explained / texts)
        return bool(t_quantile(n - 1) * error <= within)

    return find_least(is_enough, FEWEST, int(min(texts, LARGEST)))


def kappa_variance(kappa: float, rate: float) -> float:
    """Computes the variance of one label for Cohen's kappa of two labels with equal rates (Bloch & Kraemer 1989).

    >>> kappa_variance(0.0, 0.5), kappa_variance(0.6, 0.5)
    (1.0, 0.64)
    """
    of_equal_rates = (1 - kappa) * (1 - 2 * kappa)
    of_rare_label = kappa * (2 - kappa) / (2 * rate * (1 - rate))
    return (1 - kappa) * (of_equal_rates + of_rare_label)


def estimate_spread(differences: ArrayLike) -> Spread:
    """Estimates the spread from pilot differences a - b, of shape (raters, inputs).

    A difference is NaN if a rater did not rate both outputs; at least 2 inputs are rated. The estimate is a one-way
    analysis of variance with inputs as groups. If no input has several raters, the spread of raters is unknown.
    """
    table = np.asarray(differences, dtype=np.float64)
    is_rated = ~np.isnan(table).all(axis=0)
    table = table[:, is_rated]
    inputs = table.shape[1]
    counts = (~np.isnan(table)).sum(axis=0)  # raters of each input
    means = np.nansum(table, axis=0) / counts
    total = counts.sum()
    freedom_within = int(total - inputs)
    if freedom_within == 0:
        return Spread(inputs=float(means.std(ddof=1)), raters=None, pilot=inputs)
    within = float(np.nansum((table - means) ** 2)) / freedom_within
    grand_mean = float(np.nansum(table) / total)
    deviations = means - grand_mean
    between = float((counts * deviations**2).sum()) / (inputs - 1)
    usual_count = (total - (counts**2).sum() / total) / (inputs - 1)
    variance_of_inputs = max(0.0, (between - within) / usual_count)
    return Spread(inputs=math.sqrt(variance_of_inputs), raters=math.sqrt(within), pilot=inputs)


def deviation_interval(n: int) -> tuple[float, float]:
    """Computes the interval of a standard deviation of n normal values, as multiples of the estimate (chi-squared).

    >>> [round(end, 2) for end in deviation_interval(10)]
    [0.69, 1.83]
    """
    tail = (1 - CONFIDENCE) / 2
    largest_chi_squared = float(chdtri(n - 1, tail))
    smallest_chi_squared = float(chdtri(n - 1, 1 - tail))
    low = math.sqrt((n - 1) / largest_chi_squared)
    high = math.sqrt((n - 1) / smallest_chi_squared)
    return low, high


def reliability(raters: int, between_raters: float) -> float:
    """Computes the reliability of the mean of `raters`, two of whom correlate by `between_raters` (Spearman-Brown).

    >>> reliability(3, 0.5)
    0.75
    """
    return raters * between_raters / (1 + (raters - 1) * between_raters)


def correlation_with_raters(r: float, raters: int, between_raters: float) -> float:
    """Converts a metric's correlation r with one rater to that with the mean of several.

    Correlations grow with the square root of the ratings' reliability (Spearman 1904). The result may exceed 1 in size
    if r is larger than `between_raters` allows.
    """
    return r * math.sqrt(reliability(raters, between_raters) / between_raters)


def _no_size(reason: str) -> SampleSize:
    return SampleSize(n=math.nan, power=math.nan, reason=reason)


def _find_size(power_at: Callable[[int], float], power: float, first: int) -> SampleSize:
    """The smallest n from `first` on with at least this power."""
    n = find_least(lambda n: power_at(n) >= power, first, LARGEST)
    if n is None:
        return _no_size(f"more than {LARGEST} are needed")
    return SampleSize(n, power_at(n))


def find_least(is_enough: Callable[[int], bool], first: int, most: int) -> int | None:
    """Finds the smallest number from `first` to `most` that is enough, by doubling and bisection; else None."""
    high = first
    while high > most or not is_enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = max(first - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
