"""One kind of estimate: a value, and what each unit (input) adds to its error. All else is arithmetic on these parts.

The error of a smooth statistic is about a sum over independent units (Hampel 1974). The parts come from the jackknife,
which leaves out one unit at a time (CV3 of MacKinnon, Nielsen & Webb 2023), or from a formula. Differences, means and
corrections of estimates are sums of their parts, so every difference on the same units is paired. Intervals are
Student's t on the scale of the statistic. Tests flip the signs of units.

In simulations (`tests/meta_eval/coverage.py`) intervals cover .92 or more, but for means of 10 log-normal values and
shares of nine of ten ties on inputs of very unequal size (.91).

Few units may not show what others would: a share of 0 of 30 has no variance. Such statistics have pseudo-units, which
are outcomes that nobody saw, with a small weight: two wins and two losses (Agresti & Coull 1998), half of a tie for a
compared pair (Firth 1993), a text of each pair of labels. They move the interval and widen it; the value that is shown
is that of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meta_eval.design import Floats, Indices, Layout, Mask

Statistic = Callable[[Floats], Floats]  # weights of units (rows, units and pseudo-units) -> values (rows, k)
# how an interval is made: Student's t as it is, corrected for the skewness of a mean, cut to [0, 1], or on Fisher's
# scale in [-1, 1]
Scale = Literal["plain", "mean", "share", "correlation"]

FEWEST = 10  # units, for intervals
FEWEST_FOR_MEAN = 5  # units, for intervals of means and shares
STEP = 1e-4  # of the weights of pseudo-units, for slopes
ENUMERATED = 15  # units whose flips are all made: 2**14 that differ in size
FLIPS = 1999  # of more units
ROUNDING = 1e-9  # of sums of parts whose squares add up to 1
BATCH = 4_000_000  # numbers held at once: 32 MB
CONFIDENCE = 0.95  # of every interval
FEWEST_CONTRARY = 5  # inputs with a row that is not the most frequent outcome, to tell how alike rows of an input are
PRIOR = 2.0  # wins, and losses, that are added to a share
NO_SPREAD = "the inputs all say the same, so there is no spread"
UNDEFINED = "not defined on these examples"
UNSTABLE = "not defined without some of the inputs: too little variation"


@dataclass(frozen=True)
class Estimate:
    """A number estimated from examples, its interval, and the reason if there is none."""

    # the statistic on all examples; NaN if it is undefined
    value: float
    # the ends of the interval; NaN if it is undefined, the value itself without any spread: that is no interval
    low: float
    high: float
    # why there is no value or no interval, else None
    reason: str | None = None

    def negate(self) -> Estimate:
        """Returns the estimate with the opposite sign.

        >>> Estimate(1.0, -1.0, 3.0).negate()
        Estimate(value=-1.0, low=-3.0, high=1.0, reason=None)
        """
        return Estimate(
            value=-self.value,
            low=-self.high,
            high=-self.low,
            reason=self.reason,
        )

    @classmethod
    def undefined(cls, reason: str, value: float = math.nan) -> Estimate:
        """Makes an estimate without an interval, and by default without a value, for this reason."""
        return cls(value, math.nan, math.nan, reason)


def t_quantile(freedom: ArrayLike, confidence: float = CONFIDENCE) -> Floats:
    """Returns the quantiles of Student's t that bound two-sided intervals.

    Infinite `freedom` gives the normal quantile.
    """
    from scipy.special import stdtrit

    return stdtrit(freedom, (1 + confidence) / 2)


@dataclass(frozen=True, eq=False)
class Estimates:
    """k statistics of the same m units."""

    # of the data, as they are shown, and with pseudo-units, both of shape (k,); NaN where undefined
    shown: Floats
    values: Floats
    # what each unit, and each pseudo-unit, adds to the errors, of shape (m, k) and (pseudo-units, k)
    parts: Floats
    unseen: Floats
    # the units with data, of shape (m,)
    used: Mask
    scale: Scale = "plain"
    # figures that were fitted from the units, beside the value itself
    fitted: int = 0
    # whether each unit is one outcome of known variance, so that the quantile is the normal one
    is_known_variance: bool = False
    # why there is no value, else None
    reason: str | None = None
    # what the units are
    what: str = "inputs"

    @property
    def units(self) -> int:
        return int(self.used.sum())

    @property
    def few(self) -> str | None:
        """Why the units are too few for an interval, or None."""
        fewest = FEWEST_FOR_MEAN if self.scale in ("mean", "share") else FEWEST
        if self.units >= fewest:
            return None
        return f"an interval needs at least {fewest} {self.what}, but there are {self.units}"

    @property
    def freedom(self) -> Floats:
        """The degrees of freedom of Student's t, of shape (k,).

        Of means and shares they are fewer where few units make most of the variance (Satterthwaite 1946, with the
        fourth powers of the parts): inputs of very uneven size, and values with long tails.
        """
        most = np.full(len(self.values), float(self.units - 1 - self.fitted))
        if self.is_known_variance:
            return np.full(len(most), math.inf)
        if self.scale not in ("mean", "share"):
            return most
        fourth = (self.parts**4).sum(axis=0)
        worth = np.divide(
            3 * self.variances**2,
            fourth,
            out=most + 1,
            where=fourth > 0,
        )
        return np.clip(worth - 1, 1.0, np.maximum(most, 1.0))

    @property
    def errors(self) -> Floats:
        """The standard errors, of shape (k,); NaN without variation."""
        units = self.units
        seen = (self.parts**2).sum(axis=0) * units / max(units - 1, 1)
        variance = seen + (self.unseen**2).sum(axis=0)
        return np.sqrt(np.where(variance > ROUNDING**2, variance, np.nan))

    @property
    def variances(self) -> Floats:
        """The squares of the standard errors; 0 without variation."""
        return np.nan_to_num(self.errors) ** 2

    def map(self, function: Callable[[Floats], Floats]) -> Estimates:
        """The statistics that a linear function, along the last axis, makes of these."""
        return replace(
            self,
            shown=function(self.shown),
            values=function(self.values),
            parts=function(self.parts),
            unseen=function(self.unseen),
            scale="mean" if self.scale == "mean" else "plain",
        )

    def rescale(self, factor: float, shift: float = 0.0) -> Estimates:
        """The statistics times `factor`, plus `shift`."""
        scaled = self.map(lambda figures: factor * figures)
        return replace(scaled, shown=scaled.shown + shift, values=scaled.values + shift)

    def contrast(self, matrix: Floats) -> Estimates:
        """Sums of the statistics, weighted by the columns of `matrix`, of shape (k, sums)."""
        return replace(self.map(lambda figures: figures @ matrix), is_known_variance=False)

    def subtract(self, first: Sequence[int] | Indices, second: Sequence[int] | Indices) -> Estimates:
        """The statistics numbered `first` minus those numbered `second`, of shape (pairs,)."""
        gaps = self.map(lambda figures: figures[..., first] - figures[..., second])
        return replace(gaps, is_known_variance=False)

    def take(self, kept: Sequence[int]) -> Estimates:
        """The statistics with these numbers."""
        return replace(self.map(lambda figures: figures[..., kept]), scale=self.scale)

    def join(self, other: Estimates) -> Estimates:
        """Both, as statistics of the same units; their pseudo-units are independent."""
        k = len(self.values)
        rows = len(self.unseen)
        unseen = np.zeros((rows + len(other.unseen), k + len(other.values)))
        unseen[:rows, :k] = self.unseen
        unseen[rows:, k:] = other.unseen
        return replace(
            self,
            shown=np.concatenate([self.shown, other.shown]),
            values=np.concatenate([self.values, other.values]),
            parts=np.hstack([self.parts, other.parts]),
            unseen=unseen,
            used=self.used | other.used,
            scale=self.scale if self.scale == other.scale else "plain",
            fitted=max(self.fitted, other.fitted),
            reason=self.reason or other.reason,
        )

    def __sub__(self, other: Estimates) -> Estimates:
        k = len(self.values)
        first = [*range(k)]
        return self.join(other).subtract(first, [k + i for i in first])

    def help(self) -> Estimates:
        """The first statistic, corrected by the others, whose true value is 0, so that the variance is least.

        With a judge's mean on labelled texts minus that on all texts, this is PPI++ (Angelopoulos, Duchi & Zrnic 2023).
        A statistic without variation, such as that of a judge with one verdict for all texts, corrects nothing.
        """
        parts = np.nan_to_num(self.parts)
        varies = (parts[:, 1:] ** 2).sum(axis=0) > ROUNDING**2
        slopes = np.linalg.lstsq(np.where(varies, parts[:, 1:], 0.0), parts[:, 0], rcond=None)[0]
        helped = self.contrast(np.concatenate([[1.0], -slopes])[:, None])
        return replace(helped, scale=self.scale, fitted=self.fitted + int(varies.sum()))

    def bound(self, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
        """The ends of the intervals, of shape (k,); NaN without variation."""
        errors = self.errors
        upper = t_quantile(self.freedom, confidence)
        if self.scale == "mean":
            skewness = (self.parts**3).sum(axis=0) / errors**3
            return self.values - errors * _bend(upper, skewness), self.values - errors * _bend(-upper, skewness)
        if self.scale == "correlation":
            inside = np.clip(self.values, -1 + 1e-12, 1 - 1e-12)
            half = upper * errors / (1 - inside**2)
            return np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half)
        low = self.values - upper * errors
        high = self.values + upper * errors
        if self.scale == "share":
            return np.maximum(low, 0.0), np.minimum(high, 1.0)
        return low, high

    def show(self, confidence: float = CONFIDENCE) -> list[Estimate]:
        """The k estimates with their intervals, which hold the values that are shown."""
        few = self.few
        lows, highs = self.bound(confidence) if few is None else (self.values, self.values)
        shown = np.clip(self.shown, 0.0, 1.0) if self.scale == "share" else self.shown
        is_unstable: Mask = np.any(np.isnan(self.parts), axis=0)
        estimates = []
        for value, low, high, unstable in zip(
            shown.tolist(), lows.tolist(), highs.tolist(), is_unstable.tolist(), strict=True
        ):
            if math.isnan(value):
                estimates.append(Estimate.undefined(self.reason or UNDEFINED))
            elif few is not None or unstable:
                estimates.append(Estimate.undefined(few or UNSTABLE, value))
            elif math.isnan(low):
                estimates.append(Estimate(value, value, value, NO_SPREAD))
            else:
                estimates.append(Estimate(value, min(low, value), max(high, value)))
        return estimates

    @property
    def only(self) -> Estimate:
        """The estimate of a single statistic."""
        (estimate,) = self.show()
        return estimate

    def test(self, seed: int = 0) -> Floats:
        """Two-sided p-values, of shape (k,), that each is 0, adjusted for all, by sign flips of units.

        All statistics share the flips. The statistic is a sum over the root of its squares, which no flip changes. NaN
        for an undefined statistic.
        """
        return flip_signs(self.evidence, seed)

    @property
    def evidence(self) -> Floats:
        """What each unit says for a statistic, of shape (m, k): its part, and its even share of the value."""
        defined = np.where(np.isnan(self.shown), np.nan, self.values)
        evenly = self.used[:, None] * defined / max(self.units, 1)
        return self.parts + evenly


def _bend(quantile: Floats, skewness: Floats) -> Floats:
    """Hall's quantile (1992) of a studentised mean, whose skewness is that of the values over the root of n."""
    is_skewed = np.abs(skewness) > 1e-6
    a = np.where(is_skewed, skewness, 1.0)
    bent = 3 / a * (np.cbrt(1 + a * (quantile - a / 6)) - 1)
    return np.where(is_skewed, bent, quantile)


def linearise(
    statistic: Statistic,
    used: Mask,
    pseudo: Sequence[float] | Floats = (),
    *,
    scale: Scale = "plain",
) -> Estimates:
    """Estimates statistics of weighted units by the jackknife: leaves out each unit in turn.

    `used` says which units have data, of shape (m,); `pseudo` are the weights of pseudo-units, whose places in the
    weights that `statistic` takes follow those of the units.
    """
    m = len(used)
    data = np.concatenate([np.ones(m), np.zeros(len(pseudo))])
    base = np.concatenate([np.ones(m), pseudo])
    shown, values = statistic(np.stack([data, base]))
    present = np.flatnonzero(used)
    count = len(present)
    blocks = [np.empty((0, len(values)))]
    rows = max(1, BATCH // len(base))
    for start in range(0, count if count > 1 else 0, rows):
        left_out = present[start : start + rows]
        weights = np.tile(base, (len(left_out), 1))
        weights[np.arange(len(left_out)), left_out] = 0
        blocks.append(statistic(weights))
    without = np.concatenate(blocks)
    parts = np.zeros((m, len(values)))
    if count > 1:
        parts[present] = (count - 1) / count * (without.mean(axis=0) - without)
    unseen = np.zeros((len(pseudo), len(values)))
    if len(pseudo):
        steps = STEP * np.eye(len(base))[m:]
        slopes = (statistic(base + steps) - statistic(base - steps)) / (2 * STEP)
        unseen = slopes * np.sqrt(pseudo)[:, None]
    return Estimates(
        shown=shown,
        values=values,
        parts=parts,
        unseen=unseen,
        used=used,
        scale=scale,
    )


def estimate_weighted(
    statistic: Statistic,
    layout: Layout,
    *,
    scale: Scale = "plain",
    reason: str | None = None,
) -> Estimates:
    """Estimates statistics of weighted inputs: `statistic` takes weights of inputs (rows, inputs)."""
    unit_of_input = np.arange(layout.input_count) % max(layout.unit_count, 1)

    def measure(weights: Floats) -> Floats:
        values = statistic(weights[:, unit_of_input])
        return values.reshape(len(weights), -1)

    every_unit = np.ones(layout.unit_count, dtype=np.bool_)
    return replace(linearise(measure, every_unit, scale=scale), reason=reason)


def estimate_from_parts(
    values: Floats,
    parts: Floats,
    layout: Layout,
) -> Estimates:
    """Makes estimates of values, of shape (k,), from what each row adds to their errors, of shape (n, k)."""
    return Estimates(
        shown=values,
        values=values,
        parts=gather(parts, layout),
        unseen=np.zeros((0, len(values))),
        used=np.ones(layout.unit_count, dtype=np.bool_),
    )


def gather(rows: Floats, layout: Layout) -> Floats:
    """Sums values of rows, of shape (n, k), by unit; returns shape (units, k)."""
    sums = [np.bincount(layout.units, column, minlength=layout.unit_count) for column in rows.T]
    return np.reshape(sums, (len(sums), layout.unit_count)).T.astype(np.float64)


def estimate_mean(values: Floats, layout: Layout, scale: Scale = "mean") -> Estimates:
    """Estimates the means of columns of `values`, of shape (n,) or (n, k), with NaN for a missing value."""
    columns = np.reshape(values, (len(values), -1))
    known = ~np.isnan(columns)
    filled = np.where(known, columns, 0.0)
    return estimate_ratio(filled, known.astype(np.float64), layout, scale)


def estimate_ratio(
    numerators: Floats,
    denominators: Floats,
    layout: Layout,
    scale: Scale = "mean",
) -> Estimates:
    """Estimates sums of `numerators` divided by sums of `denominators`, both of shape (n,) or (n, k)."""
    n = len(numerators)
    above = gather(np.reshape(numerators, (n, -1)), layout)
    below = gather(np.reshape(denominators, (n, -1)), layout)
    return _divide_sums(above, below, (), scale)


def _divide_sums(
    above: Floats,
    below: Floats,
    pseudo: Sequence[float],
    scale: Scale,
) -> Estimates:
    """Estimates ratios of sums over units, both of shape (units and pseudo-units, k)."""

    def divide(weights: Floats) -> Floats:
        return divide_known(weights @ above, weights @ below)

    units = len(below) - len(pseudo)
    return linearise(
        divide,
        below[:units].sum(axis=1) > 0,
        pseudo,
        scale=scale,
    )


def estimate_perplexity(nll: Floats, tokens: Floats, layout: Layout) -> Estimate:
    """Estimates perplexity: exp of the mean negative log-probability of a token; lower is more likely.

    `nll` are negative log-probabilities of the texts in nats, `tokens` their numbers of tokens, of shape (n,).
    """
    loss = estimate_ratio(nll, tokens, layout).only
    return Estimate(
        value=math.exp(loss.value),
        low=math.exp(loss.low),
        high=math.exp(loss.high),
        reason=loss.reason,
    )


def estimate_share(wins: Floats, layout: Layout) -> Estimates:
    """Estimates the share of wins, of shape (n,) or (n, k): 1 for a win, .5 for a tie, 0 for a loss, NaN for none.

    The pseudo-units are two wins and two losses (Agresti & Coull 1998). If inputs repeat, each is as many rows as say
    as much as one independent row (`measure_design_effects`).
    """
    columns = wins if wins.ndim > 1 else wins[:, None]
    known = ~np.isnan(columns)
    sizes = measure_design_effects(columns, layout)
    won = np.vstack([gather(np.where(known, columns, 0.0), layout), sizes, np.zeros(len(sizes))])
    rows = np.vstack([gather(known.astype(np.float64), layout), sizes, sizes])

    shares = _divide_sums(won, rows, (PRIOR, PRIOR), "share")
    is_independent = layout.input_count == len(wins) or not repeats(layout, known.sum(axis=1) > 0)
    return replace(shares, is_known_variance=is_independent)


def estimate_difference(differences: Floats, layout: Layout, unit: float = 1.0) -> Estimates:
    """Estimates the mean of differences of two marks, such as labels: -1, 0 or 1 times `unit`, with NaN for none.

    Differences are wins, ties and losses; see `estimate_share`.
    """
    return estimate_share((1 + differences / unit) / 2, layout).rescale(2 * unit, -unit)


def repeats(layout: Layout, kept: Mask) -> bool:
    """Whether an input has several of the rows that are kept, of shape (n,)."""
    return bool(np.bincount(layout.inputs[kept]).max(initial=0) > 1)


def measure_design_effects(columns: Floats, layout: Layout) -> Floats:
    """Measures how many rows say as much as one independent row (Kish 1965), by columns of wins (n, k); shape (k,).

    It lies between 1 and the mean number of rows of an input; it is this number where fewer than `FEWEST_CONTRARY`
    inputs have a row that is not the most frequent outcome.
    """
    effects = np.ones(columns.shape[1])
    if layout.input_count == len(columns):
        return effects
    for place, column in enumerate(columns.T):
        known = ~np.isnan(column)
        inputs = layout.inputs[known]
        wins = column[known]
        rows = np.bincount(inputs)
        if rows.max(initial=0) <= 1:
            continue
        most = len(wins) / np.count_nonzero(rows)
        effects[place] = most
        outcomes, counts = np.unique(wins, return_counts=True)
        contrary = np.unique(inputs[wins != outcomes[counts.argmax()]])
        if len(contrary) >= FEWEST_CONTRARY:
            by_input = np.bincount(inputs, wins - wins.mean())
            effects[place] = np.clip(float(by_input @ by_input) / len(wins) / wins.var(), 1.0, most)
    return effects


def divide_known(numerators: Floats, denominators: Floats) -> Floats:
    """Divides sums of one shape; NaN where the denominator is 0."""
    unknown = np.full(numerators.shape, np.nan)
    return np.divide(
        numerators,
        denominators,
        out=unknown,
        where=denominators > 0,
    )


def flip_signs(shares: Floats, seed: int = 0, fitted: float = 0.0) -> Floats:
    """Computes two-sided p-values that sums of shares, of shape (units, k), are 0, by flips; adjusted for all k.

    All sums share the flips. The statistic is a sum over the root of its squares, which no flip changes, so that sums
    of any spread count alike. Up to `ENUMERATED` units all flips are made, and the p-value of one sum is exact. A sum
    of zeros has the p-value 1. If shares are residuals of a model, they are too small by `fitted`, its parameters over
    the observations.
    """
    size = np.sqrt((shares**2).sum(axis=0))
    unit = shares / np.where(size > 0, size, 1.0)
    total = unit.sum(axis=0)
    # the rounding error of a sum of 0 is no evidence
    observed = np.abs(math.sqrt(1 - fitted) * total)
    observed = observed.clip(min=ROUNDING) * (1 - ROUNDING)

    def flip(swapped: Mask) -> Floats:
        return np.abs(total - 2 * (swapped @ unit)).clip(min=ROUNDING)

    return step_down(observed, map(flip, list_flips(len(shares), seed, rows=max(1, BATCH // max(shares.shape)))))


def list_flips(units: int, seed: int, rows: int) -> Iterator[Mask]:
    """Patterns of flipped units in blocks of shape (up to `rows`, units): all that differ in size, or random ones."""
    if units <= ENUMERATED:
        numbers = np.arange(1, max(2, 2 ** (units - 1)))
        for start in range(0, len(numbers), rows):
            block = numbers[start : start + rows, None]
            yield (block >> np.arange(units) & 1).astype(np.bool_)
        return
    rng = np.random.default_rng(seed)
    for start in range(0, FLIPS, rows):
        yield rng.random((min(rows, FLIPS - start), units)) < 0.5


def smallest_p(units: int) -> float:
    """Computes the smallest p-value that flips of so many units can give.

    >>> smallest_p(5), smallest_p(30)
    (0.0625, 0.0005)
    """
    return 2.0 ** (1 - units) if units <= ENUMERATED else 1 / (1 + FLIPS)


def step_down(observed: ArrayLike, resampled: Floats | Iterable[Floats]) -> Floats:
    """Computes adjusted p-values (m,): if a test counts at p <= `level`, any false positive has at most this chance.

    A test's p-value is the share of resamples, (1 + count) / (1 + B), in which the largest statistic of this and all
    weaker tests reaches the observed one. It is never below the p-value of a stronger test. If tests differ in their
    spread under the null hypothesis, their statistics must be divided by it in every resample.

    `observed` has the shape (m,); larger is more evidence. NaN is a test that cannot be made: its p-value is NaN.
    `resampled` has the same statistics under the null hypothesis, drawn together, of shape (B, m), or blocks of such
    rows. An undefined one counts against its own test only.
    """
    statistics = np.asarray(observed, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(statistics))
    order = np.argsort(statistics[tested], kind="stable")
    weakest_first = tested[order]
    ascending = statistics[weakest_first]
    limits = ascending - ROUNDING * np.abs(ascending)
    blocks = [resampled] if isinstance(resampled, np.ndarray) else resampled
    reached = np.zeros(len(tested))  # resamples that reach each statistic
    total = 0
    for block in blocks:
        values = block[:, weakest_first]
        is_undefined = np.isnan(values)
        defined = np.where(is_undefined, -np.inf, values)
        largest = np.maximum.accumulate(defined, axis=1)
        reached += ((largest >= limits) | is_undefined).sum(axis=0)
        total += len(block)
    strongest_first = (1 + reached[::-1]) / (1 + total)
    monotone = np.maximum.accumulate(strongest_first)
    adjusted = np.full(len(statistics), np.nan)
    adjusted[weakest_first] = monotone[::-1]
    return adjusted


def clusters(
    values: Mapping[str, float],
    p_values: Mapping[tuple[str, str], float],
    level: float = 0.05,
) -> dict[str, str]:
    """Finds the cluster of each metric (or system), "1" for the best; "1-2" is in both clusters.

    A cluster is a longest run, in the order of values, in which the tests separate no pair. So no cluster contains a
    pair that they separate. In the compact letter display of Piepho (2004), two without a common letter are always
    separated. Here this need not be so: a pair that no test separates is in two clusters if a metric between them is
    separated from either, because numbers of clusters follow the order.

    Higher values are better. `p_values` has all pairs, each in one order; NaN separates nothing.
    """
    order = sorted(values, key=lambda name: -values[name])
    separated = {frozenset(pair) for pair, p in p_values.items() if p < level}
    runs = _find_runs(order, separated)
    cluster_names = {}
    for place, name in enumerate(order):
        numbers = [number for number, run in enumerate(runs, 1) if place in run]
        first, last = numbers[0], numbers[-1]
        cluster_names[name] = str(first) if first == last else f"{first}-{last}"
    return cluster_names


def _find_runs(order: Sequence[str], separated: Set[frozenset[str]]) -> list[range]:
    """The longest runs of places in the order that hold no separated pair; none lies within another one."""
    ends: list[int] = []  # of the longest run from each place on, from the last place to the first
    for start in reversed(range(len(order))):
        end = ends[-1] if ends else start + 1
        for place in range(start + 1, end):
            if frozenset((order[start], order[place])) in separated:
                end = place
                break
        ends.append(end)
    runs: list[range] = []
    for start, end in enumerate(reversed(ends)):
        if not runs or end > runs[-1].stop:
            runs.append(range(start, end))
    return runs
